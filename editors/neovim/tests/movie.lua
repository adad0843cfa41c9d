--- What the film shows (movie.sh): a Go file, and the panel once it is needed.
require('shop').open('dark', 42)
