package agentapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// providerHint is the advice if no provider is configured and the error contains no advice.
const providerHint = "set OPENAI_API_KEY, or OPENAI_BASE_URL for another OpenAI-compatible server, or provider.baseUrl in the settings"

// ErrNotFound reports that a memory, grant, job or sub-agent does not exist.
var ErrNotFound = errors.New("not found")

// ErrGone is the cause of contexts that end with the connection.
var ErrGone = errors.New("the connection has ended")

// ErrCancelled is the cause of a context that ends because the client canceled the request.
var ErrCancelled = errors.New("the request was cancelled")

// Fail returns a wire error.
func Fail(code int, format string, args ...any) *jsonrpc2.Error {
	return jsonrpc2.NewError(jsonrpc2.Code(code), fmt.Sprintf(format, args...))
}

// failWith is like Fail, with additional data.
func failWith(code int, data any, format string, args ...any) *jsonrpc2.Error {
	e := Fail(code, format, args...)
	e.Data = jsonrpc2.RawMessage(Encode(data))
	return e
}

// Invalid returns the error for an invalid parameter. field is the name of the parameter.
func Invalid(field, format string, args ...any) *jsonrpc2.Error {
	return Fail(wire.CodeInvalidParams, "%s: %s", field, fmt.Sprintf(format, args...))
}

// WireError converts a handler's error to the error that the client receives.
func WireError(err error) error {
	var coded *jsonrpc2.Error
	if errors.As(err, &coded) {
		return coded
	}
	var stale *workspace.StaleError
	if errors.As(err, &stale) {
		p := ProposalTo(stale.Proposal)
		return failWith(wire.CodeStaleProposal, wire.StaleProposalData{Proposal: &p}, "%v", err)
	}
	var unset *config.NotConfiguredError
	if errors.As(err, &unset) {
		return failWith(wire.CodeProviderNotConfigured, wire.HintData{Hint: unset.Hint}, "%v", err)
	}
	if errors.Is(err, agent.ErrNoProvider) {
		return failWith(
			wire.CodeProviderNotConfigured,
			wire.HintData{Hint: providerHint},
			"%v",
			err,
		)
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return Fail(c.code, "%v", err)
		}
	}
	return Fail(wire.CodeInternalError, "%v", err)
}

// codes maps the errors of the components to wire codes.
var codes = []struct {
	err  error
	code int
}{
	{ErrCancelled, wire.CodeRequestCancelled},
	{context.Canceled, wire.CodeRequestCancelled},
	{context.DeadlineExceeded, wire.CodeRequestCancelled},
	{ErrGone, wire.CodeRequestCancelled},
	{host.ErrClosing, wire.CodeRequestCancelled},
	{agent.ErrTurnMismatch, wire.CodeTurnMismatch},
	{agent.ErrNotIdle, wire.CodeNotIdle},
	{agent.ErrPaused, wire.CodePaused},
	{agent.ErrOverloaded, wire.CodeOverloaded},
	{agent.ErrNotFound, wire.CodeNotFound},
	{agent.ErrEmptyPrompt, wire.CodeInvalidParams},
	{agent.ErrNotPinnable, wire.CodeInvalidParams},
	{agent.ErrNothingToDo, wire.CodeInvalidRequest},
	{session.ErrUnknown, wire.CodeUnknownSession},
	{session.ErrUnknownItem, wire.CodeInvalidParams},
	{session.ErrClosed, wire.CodeUnknownSession},
	{agent.ErrClosed, wire.CodeUnknownSession},
	{session.ErrLocked, wire.CodeLocked},
	{session.ErrChanged, wire.CodeLocked},
	{workspace.ErrUnknownProposal, wire.CodeUnknownProposal},
	{workspace.ErrUnknownCheckpoint, wire.CodeUnknownCheckpoint},
	{workspace.ErrUnknownHunk, wire.CodeInvalidParams},
	{workspace.ErrBadDecision, wire.CodeInvalidParams},
	{ErrNotFound, wire.CodeNotFound},
}

// DecodeParams decodes params into v. The error names the field with the wrong type.
func DecodeParams(params []byte, v any) error {
	if len(params) == 0 || string(params) == "null" {
		params = []byte("{}")
	}
	if params[0] != '{' {
		return Fail(wire.CodeInvalidParams, "params: must be an object")
	}
	err := jsonv2.Unmarshal(params, v, lenient)
	if err == nil {
		return nil
	}
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.JSONPointer != "" {
		return Invalid(fieldName(semantic.JSONPointer), "%s", wrongType(semantic))
	}
	return Fail(wire.CodeInvalidParams, "params: %v", err)
}

// fieldName formats a pointer such as /prompt/0/text as prompt[0].text.
func fieldName(p jsontext.Pointer) string {
	name := ""
	for token := range p.Tokens() {
		switch {
		case token != "" && token[0] >= '0' && token[0] <= '9':
			name += "[" + token + "]"
		case name == "":
			name = token
		default:
			name += "." + token
		}
	}
	return name
}

func wrongType(e *jsonv2.SemanticError) string {
	want := "another type"
	if e.GoType == reflect.TypeFor[wire.Prompt]() {
		return "must be a string or an array of content blocks"
	}
	if e.GoType != nil {
		want = kindName(e.GoType.Kind().String())
	}
	if e.JSONKind != 0 {
		return fmt.Sprintf("must be %s, got %s", want, jsonKindName(e.JSONKind))
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return "must be " + want
}

func kindName(kind string) string {
	switch kind {
	case "bool":
		return "a boolean"
	case "string":
		return "a string"
	case "slice", "array":
		return "an array"
	case "struct", "map":
		return "an object"
	case "float32", "float64":
		return "a number"
	}
	return "an integer"
}

func jsonKindName(k jsontext.Kind) string {
	switch k {
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return "null"
}
