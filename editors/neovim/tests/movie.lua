--- Draws the film's content (see movie.sh): a Go file, and the panel when it is needed.
require('shop').open('dark', 42)
