package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Reducer makes a history smaller. Reduce returns in.Messages itself if there is nothing to do, and
// stops as soon as the target is met. It works on clones and never changes a message. It never
// separates a call from its result, and never drops a unit that must be kept.
type Reducer interface {
	Name() string
	Reduce(ctx context.Context, in *Input) ([]*message.Message, error)
}

// Input is the input of a reducer.
type Input struct {
	Messages []*message.Message
	Target   int // tokens that the messages should use, according to Tokens
	Limit    int // maximum number of tokens that they may use; 0 means Target
	// Recent is the number of tokens of recent messages that turn_summaries, summary and drop_turns
	// leave unchanged. 0 means a share of the target.
	Recent int

	// Pins maps the IDs of messages to whether the messages are pinned now. It overrides the mark
	// in the message.
	Pins map[string]bool

	Summarize    Summarizer // nil means that no model writes a summary
	Instructions string     // the user's instructions for the summary
	Lookup       string     // explains to the model how to look up what was omitted
	Spill        func(name, text string) (path string, err error)
	NewID        func(prefix string) string
	Now          time.Time
}

// Result is a reduced history.
type Result struct {
	Messages      []*message.Message
	Strategy      string // the reducers that had an effect, joined by "+", or none
	Before, After int    // tokens, according to Tokens
	Problems      []error
}

// OverflowError reports that the messages do not fit even after all reductions.
type OverflowError struct{ Need, Limit int }

func (e *OverflowError) Error() string {
	return fmt.Sprintf("the conversation needs about %d tokens but only %d fit, even after every reduction; shorten the last message or use a model with a larger window", e.Need, e.Limit)
}

// The names of the reducers and of the strategies.
const (
	Dedupe        = "dedupe"
	Mask          = "mask"
	Truncate      = "truncate"
	TurnSummaries = "turn_summaries"
	Summary       = "summary"
	Importance    = "importance"
	DropTurns     = "drop_turns"
	Emergency     = "emergency"

	StrategyNone          = "none"
	StrategySlidingWindow = "sliding_window"
	StrategyHybrid        = "hybrid"
	StrategyAdaptive      = "adaptive"
	strategyImportance    = "importance" // means the strategy if it is the only name in the list
)

// Strategies maps the names of strategies to lists of reducers, cheapest first. If the name
// importance is the only one in a list, it means the strategy. Otherwise, it means the reducer.
var Strategies = map[string][]string{
	StrategyNone:          {},
	StrategySlidingWindow: {DropTurns, Emergency},
	strategyImportance:    {Dedupe, Mask, Truncate, Importance, Emergency},
	StrategyHybrid:        {Dedupe, Mask, Truncate, TurnSummaries, Importance, Emergency},
	StrategyAdaptive:      {Dedupe, Mask, Truncate, TurnSummaries, Summary, DropTurns, Emergency},
}

var reducers = map[string]Reducer{
	Dedupe: dedupe{}, Mask: mask{}, Truncate: truncate{}, TurnSummaries: turnSummaries{},
	Summary:    summary{},
	Importance: importance{}, DropTurns: dropTurns{}, Emergency: emergency{},
}

// Ladder returns the reducers with the given names, cheapest first. A single strategy name means
// that strategy's reducers, and no name means adaptive.
func Ladder(names ...string) ([]Reducer, error) {
	if len(names) == 0 {
		names = []string{StrategyAdaptive}
	}
	if list, ok := Strategies[names[0]]; ok && len(names) == 1 {
		names = list
	}
	var out []Reducer
	for _, n := range names {
		r := reducers[n]
		if r == nil {
			return nil, fmt.Errorf("choosing context reducers: unknown name %q", n)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reducer) int { return cost(a) - cost(b) })
	return out, nil
}

var byCost = []string{Dedupe, Mask, Truncate, TurnSummaries, Summary, Importance, DropTurns,
	Emergency}

func cost(r Reducer) int { return slices.Index(byCost, r.Name()) }

// Fit runs the reducers until the target is met. A reducer that fails or breaks a rule is skipped
// and listed in Problems. If not even the limit is met, the error is an *OverflowError, but the
// result is still valid.
func Fit(ctx context.Context, in Input, ladder []Reducer) (Result, error) {
	if in.Limit == 0 {
		in.Limit = in.Target
	}
	if in.NewID == nil {
		in.NewID = func(p string) string { return p + "reduced" }
	}
	res := Result{Messages: in.Messages, Before: Total(in.Messages)}
	res.After = res.Before
	var used []string
	for _, r := range ladder {
		if res.After <= in.Target || ctx.Err() != nil {
			break
		}
		step := in
		step.Messages = res.Messages
		out, err := apply(ctx, r, &step)
		if err != nil {
			res.Problems = append(res.Problems,
				fmt.Errorf("reducing the context by %s: %w", r.Name(), err))
			continue
		}
		if n := Total(out); n < res.After {
			res.Messages, res.After = out, n
			used = append(used, r.Name())
		}
	}
	if res.Strategy = strings.Join(used, "+"); res.Strategy == "" {
		res.Strategy = StrategyNone
	}
	if res.After > in.Limit {
		return res, &OverflowError{Need: res.After, Limit: in.Limit}
	}
	return res, nil
}

var errBroken = errors.New("it broke the pairing of calls and results, or lost messages that must be kept")

// apply runs one reducer and checks that it obeyed the rules for all reducers.
func apply(ctx context.Context, r Reducer, in *Input) (out []*message.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	out, err = r.Reduce(ctx, in)
	if err == nil && (!Paired(out) && Paired(in.Messages) || !in.keepsAll(out)) {
		return nil, errBroken
	}
	return out, err
}

// keepsAll reports whether out still contains every pinned message and the last user message.
func (in *Input) keepsAll(out []*message.Message) bool {
	have := make(map[string]bool, len(out))
	for _, m := range out {
		have[m.ID] = true
	}
	for _, u := range in.units(in.Messages) {
		if m := in.Messages[u.from]; u.keep && (u.user || u.pinned) && !have[m.ID] {
			return false
		}
	}
	return true
}
