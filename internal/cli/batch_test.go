package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestBatches sends JSON-RPC batches to both front ends (protocol 1.1).
func TestBatches(t *testing.T) {
	t.Parallel()
	const invalid = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`
	for _, c := range []struct{ in, begins, holds string }{
		{`[1]`, "[" + invalid, ""},
		{`[]`, invalid, ""},
		{`[hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
		{`[{"jsonrpc":"2.0","id":7,"method":"no/such"},{"foo":"boo"},{"jsonrpc":"2.0",` +
			`"method":"no/such"},{"jsonrpc":"2.0","id":8,"result":1}]`, "[", `"id":7`},
	} {
		for _, acp := range []bool{false, true} {
			args, in := []string{
				"serve",
			}, fmt.Sprintf(
				"Content-Length: %d\r\n\r\n%s",
				len(c.in),
				c.in,
			)
			if acp {
				args, in = []string{"acp"}, c.in+"\n"
			}
			home := t.TempDir()
			var out, errs bytes.Buffer
			run(
				context.Background(),
				args,
				[]string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home},
				strings.NewReader(in),
				&out,
				&errs,
			)
			answer := out.String()
			if !acp {
				_, answer, _ = strings.Cut(answer, "\r\n\r\n")
			}
			if !strings.HasPrefix(answer, c.begins) || !strings.Contains(answer, c.holds) ||
				strings.Count(answer, `"error"`) != 1+strings.Count(c.holds, `"id"`) {
				t.Errorf("%v %s: answered %s", args, c.in, answer)
			}
		}
	}
}
