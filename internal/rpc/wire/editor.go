package wire

// EditorQueryParams is a query to the editor's language servers.
type EditorQueryParams struct {
	Operation string    `json:"operation" enum:"diagnostics,definition,references,implementation,hover,documentSymbol,workspaceSymbol,incomingCalls,outgoingCalls"`
	URI       string    `json:"uri,omitzero"`
	Position  *Position `json:"position,omitzero"`
	Query     string    `json:"query,omitzero"`
	// Settle asks the client to wait for diagnostics. The response can then report whether they
	// arrived, as "settled" next to the URIs or, for one URI, as {items, settled}.
	Settle *EditorSettle `json:"settle,omitzero"`
}

// EditorSettle names the documents to wait for. The editor's language servers must have published
// diagnostics for the current text of each one.
type EditorSettle struct {
	URIs      []string `json:"uris"`
	TimeoutMs int      `json:"timeoutMs"` // maximum waiting time; 0 means no waiting
}

// EditorSaveParams asks the editor to save documents.
type EditorSaveParams struct {
	URIs []string `json:"uris"`
}

// EditorSaveResult reports which documents were saved.
type EditorSaveResult struct {
	Saved  []string `json:"saved"`
	Failed []string `json:"failed"`
}

// EditorRevealParams shows a location without taking the focus.
type EditorRevealParams struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitzero"`
}

// EditorRevealResult reports whether the location is visible.
type EditorRevealResult struct {
	Shown bool `json:"shown"`
}

// EditorShowDiffParams opens a proposal's diff for one file.
type EditorShowDiffParams struct {
	ProposalID string `json:"proposalId"`
	URI        string `json:"uri"`
}

// EditorShowDiffResult reports whether the diff is open.
type EditorShowDiffResult struct {
	Opened bool `json:"opened"`
}

// EditorOpenParams asks a client that cannot report changes on its own to update its document for a
// file. The client sends didOpen or didChange before its response.
type EditorOpenParams struct {
	URI string `json:"uri"`
}

// EditorOpenResult reports whether the document is now open.
type EditorOpenResult struct {
	Opened bool `json:"opened"`
}
