--- Sets up Neovim for the recording (see movie.sh): a Go file, and the panel once a scene opens it.
require('shop').open('dark', 42)
