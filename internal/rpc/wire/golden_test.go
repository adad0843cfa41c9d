package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

var update = flag.Bool("update", false, "rewrite testdata/messages.txt")

// messages lists all types that are sent as a whole message.
var messages = []any{
	ServerCapability{}, ClientCapability{}, StaleProposalData{}, HintData{},
	SessionNewParams{}, SessionNewResult{}, SessionListParams{}, SessionListResult{},
	SessionLoadParams{}, SessionLoadResult{},
	SessionUpdateParams{}, SessionUpdateResult{}, SessionConfigureParams{},
	SessionConfigureResult{}, SessionForkParams{},
	SessionParams{}, SessionResult{}, SessionExportParams{}, SessionExportResult{},
	SessionImportParams{}, Empty{},
	PromptParams{}, PromptResult{}, SteerParams{}, SteerResult{}, AbortParams{}, AbortResult{},
	TurnResult{}, QueueParams{}, QueueResult{},
	TurnWaitParams{}, Turn{}, CompactParams{}, CompactResult{},
	ProposalListParams{}, ProposalListResult{}, ProposalParams{}, ProposalGetResult{},
	ProposalResolveParams{}, ProposalResolveResult{},
	CheckpointListParams{}, CheckpointListResult{}, CheckpointParams{}, CheckpointDiffResult{},
	CheckpointRestoreParams{}, CheckpointRestoreResult{},
	RequestPermissionParams{}, RequestPermissionResult{}, AskParams{}, AskResult{},
	PermissionListResult{}, PermissionRevokeParams{},
	EditorQueryParams{}, EditorSaveParams{}, EditorSaveResult{}, EditorRevealParams{},
	EditorRevealResult{}, EditorShowDiffParams{}, EditorShowDiffResult{},
	MemorySaveParams{}, MemoryKeyParams{}, MemoryGetResult{}, MemorySearchParams{},
	MemorySearchResult{},
	ModelsParams{}, ModelsResult{}, ToolsListResult{}, CommandListResult{}, StatusResult{},
	FilesSearchParams{}, FilesSearchResult{},
	JobListResult{}, JobParams{}, JobReadResult{},
	SessionUpdated{}, TurnStarted{}, TurnCompleted{}, ItemEvent{}, Delta{}, RetryScheduled{},
	Compaction{},
	ProposalCreated{}, ProposalChanged{}, RequestResolved{},
}

// TestGoldenMessages encodes each message with empty and with full fields, and decodes the full one
// with additional unknown fields.
func TestGoldenMessages(t *testing.T) {
	var got bytes.Buffer
	for _, m := range messages {
		name := reflect.TypeOf(m).Name()
		full := reflect.New(reflect.TypeOf(m))
		fill(full.Elem(), 0)
		fmt.Fprintf(&got, "%s\n  %s\n  %s\n", name, marshal(t, m), marshal(t, full.Interface()))
		roundTrip(t, name, full)
	}
	path := filepath.Join("testdata", "messages.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the wire changed (go test -update shows how):\n%s",
			firstDifference(got.String(), string(want)))
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return b
}

func roundTrip(t *testing.T, name string, full reflect.Value) {
	t.Helper()
	body := marshal(t, full.Interface())
	greased := append([]byte(`{"x-unknown":{"a":[1]}`),
		bytes.Replace(body, []byte("{"), []byte(","), 1)...)
	if len(body) == 2 {
		greased = []byte(`{"x-unknown":1}`)
	}
	back := reflect.New(full.Type().Elem())
	if err := jsonv2.Unmarshal(greased, back.Interface()); err != nil {
		t.Fatalf("%s: reading %s: %v", name, greased, err)
	}
	if !reflect.DeepEqual(back.Interface(), full.Interface()) {
		t.Errorf("%s: %s was read back as %+v", name, body, back.Elem())
	}
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// fill sets every field to a nonzero value.
func fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	case v.Type() == rawType:
		v.SetBytes([]byte(`{"raw":true}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, depth+1)
		v.SetMapIndex(reflect.ValueOf("key"), elem)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	default:
		panic("no sample for " + v.Type().String())
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i],
				append(w, "")[min(i, len(w))])
		}
	}
	return "the end is missing"
}
