package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Func makes a tool of a function whose arguments are the struct A. Without a Schema in its Spec, SchemaFor makes it of A.
func Func[A any](spec Spec, run func(ctx context.Context, call *Call, args A) (*Result, error)) Tool {
	if spec.Schema == nil {
		spec.Schema = SchemaFor[A]()
	}
	return madeTool{spec, func(ctx context.Context, call *Call) (*Result, error) {
		var args A
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
		return run(ctx, call, args)
	}}
}

type madeTool struct {
	spec Spec
	run  Runner
}

func (t madeTool) Spec() Spec { return t.spec }

func (t madeTool) Run(ctx context.Context, call *Call) (*Result, error) { return t.run(ctx, call) }
