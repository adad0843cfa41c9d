package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// endless is a model that answers immediately. Each reply except the last requests a tool call.
// left is the number of replies that remain.
type endless struct{ left int }

func (e *endless) Info() ModelInfo { return ModelInfo{ContextWindow: 1 << 30} }

func (e *endless) Generate(_ context.Context, _ *Request, on func(Delta)) (*Reply, error) {
	on(Delta{Kind: DeltaText, Text: "ok"})
	m := message.NewText(message.RoleAssistant, "ok")
	m.Stop = message.StopEnd
	m.Usage = &message.Usage{Input: 10, Output: 1, Total: 11}
	if e.left--; e.left > 0 {
		m.Stop = message.StopToolUse
		m.Content = append(m.Content, message.Block{Type: message.ToolUse, Call: &message.ToolCall{
			ID: fmt.Sprint("c", e.left), Name: "look", Args: json.RawMessage(`{"path":"a.go"}`),
		}})
	}
	return &Reply{Message: m}, nil
}

// BenchmarkRound measures the loop's own cost per round (one model call and one tool call) with a
// model and a tool that take no time. The target is less than 100 µs at 10 messages, and at 1,000
// messages less than twice the cost at 10.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			look := fake("look", tool.ReadOnly, nil)
			look.spec.Schema = json.RawMessage(`{"type":"object","properties":{"path":{` +
				`"type":"string"}},"required":["path"]}`)
			reg, err := tool.NewRegistry(look)
			if err != nil {
				b.Fatal(err)
			}
			var old []*message.Message
			for i := range n {
				role := message.RoleUser
				if i%2 == 1 {
					role = message.RoleAssistant
				}
				old = append(old, message.NewText(role, "some text of the past"))
			}
			const rounds = 50 // per session, so that the history stays close to n messages
			for done := 0; done < b.N; done += rounds {
				b.StopTimer()
				env := Step{Models: []Model{&endless{left: rounds}}, Tools: reg,
					Limits: Limits{MaxModelCalls: -1}}
				s := NewSession(Options{
					ID: "s", Sink: SinkFunc(func(string, Event) {}),
					Environment: EnvironmentFunc(func(context.Context, TurnInfo) (Step,
						error) {
						return env, nil
					}),
					Restored: Restored{Messages: old},
				})
				b.StartTimer()
				acc, err := s.Prompt(Prompt{Content: []message.Block{{Type: message.Text,
					Text: "go"}}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Wait(context.Background(), acc.TurnID, ""); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				_ = s.Close(context.Background())
				b.StartTimer()
			}
		})
	}
}
