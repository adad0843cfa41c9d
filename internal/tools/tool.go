package tools

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

//go:embed *.md
var descriptions embed.FS

// definition is a tool with arguments of type A.
type definition[A any] struct {
	spec    tool.Spec
	prepare func(call *tool.Call, args A) tool.Prepared
}

// run executes a prepared call.
type run = func(ctx context.Context, call *tool.Call) (*tool.Result, error)

// newTool completes the specification of a tool with its description, schema and source.
func newTool[A any](t definition[A]) *definition[A] {
	t.spec.Source = "builtin"
	t.spec.Description = description(t.spec.Name)
	t.spec.Schema = schemaOf[A](t.spec.Name)
	return &t
}

// description returns the part of NAME.md for the model, which is the text above the line of
// dashes. The tool's row in docs/reference/tools.md is below that line.
func description(name string) string {
	text, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic("the tool " + name + " has no description: " + err.Error())
	}
	forModel, _, _ := strings.Cut(string(text), "\n---\n")
	return strings.TrimSpace(forModel)
}

// storedSchemas is generated from the tools' arguments (go test -run TestStoredSchemas -update).
// Generating the schemas in each daemon would take a tenth of the memory that is allocated before
// the first prompt.
//
//go:embed schemas.json
var storedSchemas []byte

// schemas returns the stored schemas by the names of their tools.
var schemas = sync.OnceValue(func() (stored map[string]json.RawMessage) {
	if err := json.Unmarshal(storedSchemas, &stored); err != nil {
		panic("the stored schemas of the tools: " + err.Error())
	}
	return stored
})

// schemaOf returns the schema of A, the arguments of a tool. A tool without a stored schema gets a
// generated schema.
func schemaOf[A any](name string) json.RawMessage {
	if stored := schemas()[name]; stored != nil {
		return stored
	}
	return makeSchema[A]()
}

// makeSchema returns the schema of A, as short as possible for a model. No property allows null.
// Unknown properties are allowed and ignored.
func makeSchema[A any]() json.RawMessage {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic("the arguments of a tool have no schema: " + err.Error())
	}
	simplify(s)
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("a schema cannot be encoded: " + err.Error())
	}
	return text
}

func simplify(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	if types := slices.DeleteFunc(slices.Clone(s.Types),
		func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	if s.Items != nil {
		simplify(s.Items)
	}
	for name, p := range s.Properties {
		if p.Description == "hidden" { // accepted if a model sends it, but not offered
			delete(s.Properties, name)
			continue
		}
		simplify(p)
	}
}

func (t *definition[A]) Spec() tool.Spec { return t.spec }

func (t *definition[A]) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var args A
	if err := call.Decode(&args); err != nil {
		return nil, err
	}
	p := t.prepare(call, args)
	return &p, nil
}

// bind returns f with the arguments of one call bound to it.
func bind[A any](f func(context.Context, *tool.Call, A) (*tool.Result, error), a A) run {
	return func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		return f(ctx, call, a)
	}
}

// bindFile is bind for a call with a file.
func bindFile[A any](
	f func(context.Context, *tool.Call, named, A) (*tool.Result, error),
	file named,
	a A,
) run {
	return func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
		return f(ctx, call, file, a)
	}
}

// text returns a result that consists of text only.
func text(format string, args ...any) *tool.Result {
	return &tool.Result{Text: fmt.Sprintf(format, args...)}
}

// details encodes additional information that a client may show with the result.
func details(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
