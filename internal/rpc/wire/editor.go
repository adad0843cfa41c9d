package wire

// EditorQueryParams asks the editor's own language servers.
type EditorQueryParams struct {
	Operation string    `json:"operation" enum:"diagnostics,definition,references,implementation,hover,documentSymbol,workspaceSymbol,incomingCalls,outgoingCalls"`
	URI       string    `json:"uri,omitzero"`
	Position  *Position `json:"position,omitzero"`
	Query     string    `json:"query,omitzero"`
	// Settle asks to wait with diagnostics. The answer may then say whether that was in vain:
	// "settled" beside the URIs, or, for one URI, {items, settled}.
	Settle *EditorSettle `json:"settle,omitzero"`
}

// EditorSettle names documents of whose present text the editor's language servers shall have
// spoken.
type EditorSettle struct {
	URIs      []string `json:"uris"`
	TimeoutMs int      `json:"timeoutMs"` // at the latest the answer comes; 0: at once
}

// EditorSaveParams asks the editor to save documents.
type EditorSaveParams struct {
	URIs []string `json:"uris"`
}

// EditorSaveResult says which were saved.
type EditorSaveResult struct {
	Saved  []string `json:"saved"`
	Failed []string `json:"failed"`
}

// EditorRevealParams shows a place without taking the focus.
type EditorRevealParams struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitzero"`
}

// EditorRevealResult says whether it is shown.
type EditorRevealResult struct {
	Shown bool `json:"shown"`
}

// EditorShowDiffParams opens a proposal's diff for one file.
type EditorShowDiffParams struct {
	ProposalID string `json:"proposalId"`
	URI        string `json:"uri"`
}

// EditorShowDiffResult says whether it is open.
type EditorShowDiffResult struct {
	Opened bool `json:"opened"`
}

// EditorOpenParams asks a client that cannot tell of changes by itself to bring its document
// of a file up to date, by didOpen or didChange before its answer.
type EditorOpenParams struct {
	URI string `json:"uri"`
}

// EditorOpenResult says whether the document is open now.
type EditorOpenResult struct {
	Opened bool `json:"opened"`
}
