package wire

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exchange contains the types of one method's params and result. result is nil for a notification.
type exchange struct{ params, result any }

// exchanges lists the agent/* methods with the types for the examples on the protocol pages.
var exchanges = map[string]exchange{
	MethodSessionNew:       {&SessionNewParams{}, &SessionNewResult{}},
	MethodSessionList:      {&SessionListParams{}, &SessionListResult{}},
	MethodSessionLoad:      {&SessionLoadParams{}, &SessionLoadResult{}},
	MethodSessionUpdate:    {&SessionUpdateParams{}, &SessionUpdateResult{}},
	MethodSessionConfigure: {&SessionConfigureParams{}, &SessionConfigureResult{}},
	MethodSessionFork:      {&SessionForkParams{}, &SessionResult{}},
	MethodSessionPause:     {&SessionParams{}, &Empty{}},
	MethodSessionResume:    {&SessionParams{}, &Empty{}},
	MethodSessionDelete:    {&SessionParams{}, &Empty{}},
	MethodSessionExport:    {&SessionExportParams{}, &SessionExportResult{}},
	MethodSessionImport:    {&SessionImportParams{}, &SessionResult{}},

	MethodPrompt:      {&PromptParams{}, &PromptResult{}},
	MethodSteer:       {&SteerParams{}, &SteerResult{}},
	MethodAbort:       {&AbortParams{}, &AbortResult{}},
	MethodContinue:    {&SessionParams{}, &TurnResult{}},
	MethodQueueList:   {&QueueParams{}, &QueueResult{}},
	MethodQueueRemove: {&QueueParams{}, &QueueResult{}},
	MethodQueueClear:  {&QueueParams{}, &QueueResult{}},
	MethodTurnWait:    {&TurnWaitParams{}, &Turn{}},
	MethodCompact:     {&CompactParams{}, &CompactResult{}},

	MethodProposalList:    {&ProposalListParams{}, &ProposalListResult{}},
	MethodProposalGet:     {&ProposalParams{}, &ProposalGetResult{}},
	MethodProposalResolve: {&ProposalResolveParams{}, &ProposalResolveResult{}},

	MethodCheckpointList:    {&CheckpointListParams{}, &CheckpointListResult{}},
	MethodCheckpointDiff:    {&CheckpointParams{}, &CheckpointDiffResult{}},
	MethodCheckpointRestore: {&CheckpointRestoreParams{}, &CheckpointRestoreResult{}},
	MethodPermissionList:    {&Empty{}, &PermissionListResult{}},
	MethodPermissionRevoke:  {&PermissionRevokeParams{}, &Empty{}},
	MethodJobList:           {&SessionParams{}, &JobListResult{}},
	MethodJobRead:           {&JobParams{}, &JobReadResult{}},
	MethodJobKill:           {&JobParams{}, &Empty{}},
	MethodMemorySave:        {&MemorySaveParams{}, &Empty{}},
	MethodMemoryGet:         {&MemoryKeyParams{}, &MemoryGetResult{}},
	MethodMemorySearch:      {&MemorySearchParams{}, &MemorySearchResult{}},
	MethodMemoryDelete:      {&MemoryKeyParams{}, &Empty{}},
	MethodModels:            {&ModelsParams{}, &ModelsResult{}},
	MethodToolsList:         {&Empty{}, &ToolsListResult{}},
	MethodCommandList:       {&Empty{}, &CommandListResult{}},
	MethodStatus:            {&Empty{}, &StatusResult{}},
	MethodFilesSearch:       {&FilesSearchParams{}, &FilesSearchResult{}},

	MethodSessionUpdated:  {&SessionUpdated{}, nil},
	MethodTurnStarted:     {&TurnStarted{}, nil},
	MethodTurnCompleted:   {&TurnCompleted{}, nil},
	MethodItemStarted:     {&ItemEvent{}, nil},
	MethodItemUpdated:     {&ItemEvent{}, nil},
	MethodItemCompleted:   {&ItemEvent{}, nil},
	MethodDelta:           {&Delta{}, nil},
	MethodRetry:           {&RetryScheduled{}, nil},
	MethodCompaction:      {&Compaction{}, nil},
	MethodProposalCreated: {&ProposalCreated{}, nil},
	MethodProposalUpdated: {&ProposalChanged{}, nil},
	MethodProposalClosed:  {&ProposalChanged{}, nil},
	MethodRequestResolved: {&RequestResolved{}, nil},

	MethodRequestPermission: {&RequestPermissionParams{}, &RequestPermissionResult{}},
	MethodAsk:               {&AskParams{}, &AskResult{}},
	MethodEditorQuery:       {&EditorQueryParams{}, &map[string]any{}},
	MethodEditorSave:        {&EditorSaveParams{}, &EditorSaveResult{}},
	MethodEditorReveal:      {&EditorRevealParams{}, &EditorRevealResult{}},
	MethodEditorShowDiff:    {&EditorShowDiffParams{}, &EditorShowDiffResult{}},
	MethodEditorOpen:        {&EditorOpenParams{}, &EditorOpenResult{}},
}

// Each method has a numbered heading on a protocol page, followed by an example that uses only
// existing fields.
func TestProtocolExamples(t *testing.T) {
	shown := map[string]bool{}
	for name, page := range protocolPages(t) {
		for _, section := range strings.Split(page, "\n## ")[1:] {
			heading, _, _ := strings.Cut(section, "\n")
			for _, m := range jsonBlock.FindAllStringSubmatch(section, -1) {
				method := checkExample(t, name, m[1])
				if !strings.HasSuffix(heading, " "+method) {
					t.Errorf("%s: the example of %s is below %q", name, method, heading)
				}
				shown[method] = true
			}
		}
	}
	for _, list := range [][]string{Requests, Notifications, ServerRequests} {
		for _, m := range list {
			if !shown[m] {
				t.Errorf("no protocol page has an example of %s", m)
			}
		}
	}
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// checkExample decodes an example and returns its method.
func checkExample(t *testing.T, page, text string) string {
	t.Helper()
	var message struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	for d.More() {
		if err := d.Decode(&message); err != nil {
			t.Errorf("%s: %v in\n%s", page, err, text)
		}
	}
	types, ok := exchanges[message.Method]
	if !ok {
		t.Errorf("%s: there is no method %q", page, message.Method)
		return ""
	}
	strictly(t, page, message.Params, types.params)
	if (types.result == nil) != (message.Result == nil) {
		t.Errorf("%s: the example of %s has the result %s", page, message.Method, message.Result)
	} else if types.result != nil {
		strictly(t, page, message.Result, types.result)
	}
	return message.Method
}

// strictly decodes JSON into a value. Unknown fields are errors.
func strictly(t *testing.T, page string, raw json.RawMessage, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v in\n%s", page, err, raw)
	}
}

// The headings of each protocol page except README.md are numbered in ascending order, so that
// comments can refer to them.
func TestProtocolNumbers(t *testing.T) {
	numbered := regexp.MustCompile(`(?m)^#+ (\d+)\.(\d*)`)
	for name, page := range protocolPages(t) {
		var got []string
		for _, m := range numbered.FindAllStringSubmatch(page, -1) {
			got = append(got, m[2])
		}
		if name != "README.md" && !slices.IsSortedFunc(got, byNumber) {
			t.Errorf("%s: headings are numbered %q", name, got)
		}
	}
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
