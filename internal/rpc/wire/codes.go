package wire

// Error codes of JSON-RPC and LSP that the server uses.
const (
	CodeParseError       = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602 // the message names the field
	CodeInternalError    = -32603
	CodeNotInitialized   = -32002
	CodeRequestCancelled = -32800
	CodeContentModified  = -32801
	// A client returns this for agent/editor/open if it refuses the file.
	CodeRequestFailed = -32803
)

// Error codes of agent/*.
const (
	CodeStaleProposal         = 1001 // data: StaleProposalData
	CodeUnknownSession        = 1002
	CodeUnknownProposal       = 1003
	CodeTurnMismatch          = 1004
	CodeNotIdle               = 1005
	CodeProviderNotConfigured = 1006 // data: HintData
	CodeUnknownCheckpoint     = 1007
	CodeOverloaded            = 1008 // queue full; retry
	CodeLocked                = 1009 // another daemon writes to this session
	CodePaused                = 1010
	CodeNotFound              = 1011 // memory, grant, job, queued message
)

// StaleProposalData is the data of CodeStaleProposal. It contains the current proposal.
type StaleProposalData struct {
	Proposal *Proposal `json:"proposal"`
}

// HintData is the data of CodeProviderNotConfigured. It describes what to configure.
type HintData struct {
	Hint string `json:"hint"`
}
