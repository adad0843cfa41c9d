package cli

import (
	"context"
	"io"
)

// version is the version that the program reports in tests.
const version = "0.1.0-test"

// run runs the program in-process.
func run(ctx context.Context, args, env []string, in io.Reader, out, errs io.Writer) int {
	return Run(ctx, version, args, env, in, out, errs)
}
