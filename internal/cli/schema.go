package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/rpc/schema"
)

// schemaCommand returns the command that prints the types of the wire protocol as JSON Schema,
// TypeScript or Lua.
func (p *program) schemaCommand() *cobra.Command {
	languages := []string{"json", "typescript", "lua"}
	return &cobra.Command{
		Use: "schema [json|typescript|lua]", Short: "print the protocol's types",
		ValidArgs: languages,
		Args:      atMostOne(languages),
		Run: p.does(func(_ context.Context, args []string) int {
			return p.schema(strings.Join(args, ""))
		}),
	}
}

func (p *program) schema(language string) int {
	s, err := schema.Load()
	if err != nil {
		fmt.Fprintln(p.stderr, "agent-lsp schema:", err)
		return exitFailed
	}
	switch language {
	case "typescript":
		fmt.Fprint(p.stdout, s.TypeScript())
	case "lua":
		fmt.Fprint(p.stdout, s.Lua())
	default:
		b, err := s.JSON()
		if err != nil {
			fmt.Fprintln(p.stderr, "agent-lsp schema:", err)
			return exitFailed
		}
		fmt.Fprintf(p.stdout, "%s\n", b)
	}
	return exitOK
}
