package wire

// Version is the version of agent/*.
const Version = 1

// ServerCapability is capabilities.experimental.agentLsp of the initialize result.
type ServerCapability struct {
	Version        int            `json:"version"`
	Methods        []string       `json:"methods"`
	Notifications  []string       `json:"notifications"`
	ServerRequests []string       `json:"serverRequests"`
	EditPolicies   []string       `json:"editPolicies" enum:"ask,review,collect,auto,confirm"`
	Limits         map[string]int `json:"limits"`
}

// ClientCapability is capabilities.experimental.agentLsp of the initialize params. The
// booleans choose how the server asks, not whether; absent is false.
type ClientCapability struct {
	Version    int              `json:"version,omitzero"`
	Permission bool             `json:"permission,omitzero"`
	Ask        bool             `json:"ask,omitzero"`
	Editor     EditorCapability `json:"editor,omitzero"`
}

// EditorCapability says which agent/editor/* requests the client answers.
type EditorCapability struct {
	Query    bool `json:"query,omitzero"`
	Save     bool `json:"save,omitzero"`
	Reveal   bool `json:"reveal,omitzero"`
	ShowDiff bool `json:"showDiff,omitzero"`
	Open     bool `json:"open,omitzero"`
}
