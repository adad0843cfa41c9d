package shell

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	MaybeHelper()
	maybeDaemon()
	maybeProbe()
	flag.Parse()
	_ = flag.Set("test.parallel", "12") // the parallel tests mostly wait for processes to end
	goleak.VerifyTestMain(m)
}
