package app

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
)

// TestElicitation checks the questions for the fields of a form, and how the user's answers are
// parsed.
func TestElicitation(t *testing.T) {
	const form = `{"type":"object","required":["color","count"],"properties":{
		"color":{"type":"string","title":"Color",
			"oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],
			"default":"#0f0"},
		"count":{"type":"integer","minimum":1,"default":3},
		"note":{"type":"string","description":"A note"},
		"ratio":{"type":"number"},
		"sure":{"type":"boolean","default":true},
		"tags":{"type":"array","items":{
			"anyOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]}}}}`
	for name, c := range map[string]struct {
		answers map[string][]string // keyed by a part of the question; the last answer is repeated
		action  string
		want    map[string]any
	}{
		"an empty answer accepts the defaults": {nil, "accept",
			map[string]any{"color": "#0f0", "count": 3.0, "sure": true}},
		"titles, numbers and lists": {map[string][]string{"Color": {"Red"}, "count": {"12"},
			"A note": {"12"}, "ratio": {"0.5"}, "sure": {"false"}, "tags": {"First, Second"}},
			"accept", map[string]any{"color": "#f00", "count": 12.0, "note": "12", "ratio": 0.5,
				"sure": false, "tags": []any{"a", "b"}}},
		"skipped": {map[string][]string{"tags": {"Skip"}}, "accept",
			map[string]any{"color": "#0f0", "count": 3.0, "sure": true}},
		"asked again": {map[string][]string{"count": {"many", "0", "2.5", "2"}},
			"decline", nil},
		"asked again and answered": {map[string][]string{"count": {"many", "2"}}, "accept",
			map[string]any{"color": "#0f0", "count": 2.0, "sure": true}},
		"no such choice": {map[string][]string{"Color": {"Blue"}}, "decline", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var schema any
			if err := json.Unmarshal([]byte(form), &schema); err != nil {
				t.Fatal(err)
			}
			shown := ""
			ask := func(_ context.Context, q host.Question) (host.Answer, error) {
				shown += q.Text + "\n"
				for _, o := range q.Options {
					shown += "- " + o.Label + " " + o.Description + "\n"
				}
				for part, list := range c.answers {
					if strings.Contains(q.Text, part) {
						answer := list[0]
						if len(list) > 1 {
							c.answers[part] = list[1:]
						}
						return host.Answer{Text: answer}, nil
					}
				}
				return host.Answer{}, nil
			}
			action, content := elicited(
				context.Background(),
				mcp.Elicitation{Server: "paint", Message: "Details?", Schema: schema},
				"s",
				ask,
			)
			b, _ := json.Marshal(content)
			var got map[string]any
			_ = json.Unmarshal(b, &got)
			if action != c.action || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s %v, want %s %v; shown:\n%s", action, got, c.action, c.want, shown)
			}
			for _, part := range []string{"(Color; default: Green)", "- Red \n- Green default"} {
				if !strings.Contains(shown, part) {
					t.Errorf("%q is not shown:\n%s", part, shown)
				}
			}
			if c.action == "accept" && !strings.Contains(shown, "(count; default: 3)") {
				t.Errorf("the default of count is not shown:\n%s", shown)
			}
		})
	}
}

// Only the user can accept a server's request, even if the server only asks for a confirmation.
func TestElicitationIsTheUsersToAccept(t *testing.T) {
	for answer, want := range map[string]string{"Accept": "accept", "Decline": "decline",
		"": "decline", "error": "cancel"} {
		asked := ""
		ask := func(_ context.Context, q host.Question) (host.Answer, error) {
			if asked = q.Text; answer == "error" {
				return host.Answer{}, errors.New("no user is there")
			}
			return host.Answer{Text: answer, Declined: answer == ""}, nil
		}
		got, _ := elicited(context.Background(),
			mcp.Elicitation{Server: "files", Message: "Delete all?"}, "s", ask)
		if got != want || asked != "files asks: Delete all?" {
			t.Errorf("asked %q and reported %q, the server gets %s, want %s", asked, answer, got, want)
		}
	}
}
