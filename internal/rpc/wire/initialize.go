package wire

// Version is the version of agent/*.
const Version = 1

// ServerCapability is capabilities.experimental.agentLsp in the result of initialize.
type ServerCapability struct {
	Version        int            `json:"version"`
	Methods        []string       `json:"methods"`
	Notifications  []string       `json:"notifications"`
	ServerRequests []string       `json:"serverRequests"`
	EditPolicies   []string       `json:"editPolicies" enum:"ask,review,collect,auto,confirm"`
	Limits         map[string]int `json:"limits"`
}

// ClientCapability is capabilities.experimental.agentLsp in the params of initialize. Permission,
// Ask and Editor determine which agent/* requests the server sends, but not whether it asks the
// user. An absent property means false.
type ClientCapability struct {
	Version    int              `json:"version,omitzero"`
	Permission bool             `json:"permission,omitzero"`
	Ask        bool             `json:"ask,omitzero"`
	Editor     EditorCapability `json:"editor,omitzero"`
	// WholeFolders means that the user has already agreed to use the folders of initialize as the
	// workspace, even if one is the entire home folder or the root of the file system. The server
	// asks only about folders that are added later.
	WholeFolders bool `json:"wholeFolders,omitzero"`
}

// EditorCapability lists the agent/editor/* requests that the client answers.
type EditorCapability struct {
	Query    bool `json:"query,omitzero"`
	Save     bool `json:"save,omitzero"`
	Reveal   bool `json:"reveal,omitzero"`
	ShowDiff bool `json:"showDiff,omitzero"`
	Open     bool `json:"open,omitzero"`
}
