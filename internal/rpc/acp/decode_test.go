package acp

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// Decoding a prompt in one pass gives the same result as decoding it with the ACP library.
func TestPromptsAreReadAsTheLibraryReadsThem(t *testing.T) {
	for _, params := range []string{
		`{"sessionId":"s","prompt":[{"type":"text","text":"a\u00e9\n"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource_link","name":"n","uri":"file:///a"}]}`,
		`{"sessionId":"s","prompt":[{"text":"first","type":"text"},{"type":"text"},` +
			`{"type":"nonsense"}]}`,
		`{"sessionId":"s","prompt":[{"type":"text","text":5}]}`, `{"sessionId":"s","prompt":[5]}`,
		`{"sessionId":"s","prompt":[null]}`,
		`{"SessionID":"s","prompt":[{"Type":"text","TEXT":"a","text":"b"}]}`,
		`{"sessionId":"s","prompt":5}`, `{"sessionId":"s"`, `{}`, `[]`,
		"{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"\xff\"}]}",
		`{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"file:///a","text":"t"}}]}`,
	} {
		var want, got acp.PromptRequest
		wrong := json.Unmarshal([]byte(params), &want) != nil
		if err := decode([]byte(params), &got); (err != nil) != wrong || !wrong &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; the library: %+v, %v", params, got, err, want, wrong)
		}
	}
}

func BenchmarkPromptRequest(b *testing.B) {
	params := []byte(`{"sessionId":"0pgf2gkh0qbllf5kg460","prompt":[{"type":"text",` +
		`"text":"STREAM n=100 size=32 delay_us=20000 id=x"}]}`)
	for b.Loop() {
		var p acp.PromptRequest
		if err := decode(params, &p); err != nil {
			b.Fatal(err)
		}
	}
}
