package toolcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// Unnamed is the name that the history contains for a call without a name, because providers refuse
// an empty name.
const Unnamed = "unnamed"

// Errorf returns an error result for the model.
func Errorf(format string, args ...any) *tool.Result {
	return &tool.Result{Text: message.ValidUTF8(fmt.Sprintf(format, args...)), IsError: true}
}

// Prepare decodes and checks call.Args, replaces them with the corrected arguments, and lets the
// tool read them. All fields of the returned Prepared are set, except fields for which the zero
// value has a meaning. If the arguments are wrong, the Result explains why, and call is unchanged.
// A panic in the tool becomes an error.
func Prepare(
	ctx context.Context,
	entry *tool.Entry,
	call *tool.Call,
) (*tool.Prepared, *tool.Result) {
	own := *call
	if problems := entry.Read(&own); len(problems) > 0 {
		list := strings.Join(problems, "\n- ")
		return nil, Errorf("Invalid arguments for %s:\n- %s", entry.Spec.Name, list)
	}
	var p *tool.Prepared
	args, object := own.Args, own.Object
	err := panics.Catch(func() (err error) {
		p, err = entry.Tool.Prepare(ctx, &own)
		return err
	})
	var panicked *panics.Error
	switch {
	case errors.As(err, &panicked):
		return nil, Errorf("%s: reading the arguments: %v", entry.Spec.Name, err)
	case err != nil:
		return nil, Errorf("%s", err.Error())
	}
	call.Args, call.Object = args, object
	whole := *p
	whole.Effect = cmp.Or(p.Effect, entry.Spec.Effect, tool.Dangerous)
	whole.Label = message.ValidUTF8(cmp.Or(p.Label, entry.Spec.Title()))
	return &whole, nil
}

// Unparsed returns the result of a call whose arguments are not a JSON object.
func Unparsed(name, problem, raw string) *tool.Result {
	return Errorf("Failed to parse arguments of %s: %s. You sent: %s\n"+
		"Send the call again with a valid JSON object.", name, problem, tool.Quote(raw))
}

// Unknown returns the result of a call to a tool that is not registered.
func Unknown(name string, known []string) *tool.Result {
	list := strings.Join(known, ", ")
	if name == Unnamed {
		return Errorf("The call has no tool name. Send it again with the name of a tool. "+
			"Known tools: %s", list)
	}
	return Errorf("unknown tool: %s. Known tools: %s", tool.Quote(name), list)
}
