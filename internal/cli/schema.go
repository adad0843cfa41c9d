package cli

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/internal/rpc/schema"
)

// runSchema prints the wire's types as JSON Schema, TypeScript or Lua.
func runSchema(_ context.Context, p *program, args []string) int {
	flags := p.flags("schema")
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	if flags.NArg() > 1 {
		return p.unexpectedArg(flags.Name(), flags.Arg(1))
	}
	s, err := schema.Load()
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp schema:", err)
		return exitFailed
	}
	switch what := flags.Arg(0); what {
	case "", "json":
		b, err := s.JSON()
		if err != nil {
			fmt.Fprintln(p.stderr, "agent-lsp schema:", err)
			return exitFailed
		}
		fmt.Fprintf(p.stdout, "%s\n", b)
	case "typescript", "ts":
		fmt.Fprint(p.stdout, s.TypeScript())
	case "lua":
		fmt.Fprint(p.stdout, s.Lua())
	default:
		return p.noneOf("schema", what, words["schema"])
	}
	return exitOK
}
