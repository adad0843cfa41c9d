package wire

// Proposal is an edit that the user decides on, hunk by hunk.
type Proposal struct {
	ProposalID string         `json:"proposalId"`
	Revision   int            `json:"revision"`
	SessionID  string         `json:"sessionId"`
	TurnID     string         `json:"turnId"`
	ItemID     string         `json:"itemId"`
	Title      string         `json:"title"`
	State      string         `json:"state" enum:"proposed,applied,partiallyApplied,rejected,withdrawn,conflict,superseded"`
	Stat       Stat           `json:"stat"`
	Files      []ProposalFile `json:"files"`
}

// Stat counts files and lines.
type Stat struct {
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// ProposalFile contains the changes of a proposal to one file. Version is null for a file that is
// not open.
type ProposalFile struct {
	Op     string `json:"op" enum:"modify,create,delete,rename"`
	URI    string `json:"uri"`
	NewURI string `json:"newUri,omitzero"`
	// Placement reports whether pending text is already in the buffer.
	Placement string   `json:"placement" enum:"proposed,applied"`
	Version   *int32   `json:"version"`
	Base      FileBase `json:"base"`
	Hunks     []Hunk   `json:"hunks"`
}

// FileBase is the text to which the hunks refer.
type FileBase struct {
	SHA256 string `json:"sha256"`
	EOL    string `json:"eol" enum:"lf,crlf,cr,mixed,none"`
	BOM    bool   `json:"bom"`
}

// Hunk is one decidable change. Range covers NewText if it is applied, otherwise OldText.
type Hunk struct {
	HunkID    string `json:"hunkId"`
	Range     Range  `json:"range"`
	OldText   string `json:"oldText"`
	NewText   string `json:"newText"`
	State     string `json:"state" enum:"pending,accepted,rejected,stale"`
	MatchTier string `json:"matchTier" enum:"T0,T1,T2,T3,T4"`
}

// ProposalListParams filters proposals.
type ProposalListParams struct {
	SessionID string `json:"sessionId,omitzero"`
	URI       string `json:"uri,omitzero"`
	State     string `json:"state,omitzero" enum:"proposed,applied,partiallyApplied,rejected,withdrawn,conflict,superseded"`
}

// ProposalListResult lists proposals, oldest first.
type ProposalListResult struct {
	Proposals []Proposal `json:"proposals"`
}

// ProposalParams names a proposal.
type ProposalParams struct {
	ProposalID string `json:"proposalId"`
}

// ProposalGetResult is a proposal with its unified diff, which has three lines of context.
type ProposalGetResult struct {
	Proposal Proposal `json:"proposal"`
	Diff     string   `json:"diff"`
}

// ProposalResolveParams contains decisions about hunks. If Revision is set, it must be the
// proposal's current revision.
type ProposalResolveParams struct {
	ProposalID string     `json:"proposalId"`
	Revision   *int       `json:"revision,omitzero"`
	Decisions  []Decision `json:"decisions"`
	Comment    string     `json:"comment,omitzero"`
}

// Decision decides one hunk. With the HunkID "*", it decides every pending hunk that no other
// decision names.
type Decision struct {
	HunkID  string  `json:"hunkId"`
	Action  string  `json:"action" enum:"accept,reject"`
	NewText *string `json:"newText,omitzero"`
	Comment string  `json:"comment,omitzero"`
}

// ProposalResolveResult reports the outcome of the decisions, after the edit has been verified.
type ProposalResolveResult struct {
	Proposal  Proposal       `json:"proposal"`
	Applied   []AppliedFile  `json:"applied"`
	Conflicts []HunkConflict `json:"conflicts"`
}

// AppliedFile is the state of a file after a decision.
type AppliedFile struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
}

// HunkConflict is a decision that could not be applied.
type HunkConflict struct {
	HunkID string `json:"hunkId"`
	Reason string `json:"reason"`
}
