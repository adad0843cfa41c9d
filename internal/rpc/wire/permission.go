package wire

// RequestPermissionParams asks the user whether a call may run.
type RequestPermissionParams struct {
	RequestID string  `json:"requestId"`
	SessionID string  `json:"sessionId"`
	TurnID    string  `json:"turnId"`
	ItemID    string  `json:"itemId"`
	Title     string  `json:"title"`
	Reason    string  `json:"reason"`
	Subject   Subject `json:"subject"`
	// Sandbox is set for a command. It states where the command runs if it is allowed.
	Sandbox string             `json:"sandbox,omitzero" enum:"inside,outside,none"`
	Preview string             `json:"preview,omitzero"`
	Options []PermissionOption `json:"options"`
}

// Subject is what a permission applies to.
type Subject struct {
	Kind    string   `json:"kind" enum:"command,edit,read,mcp,network,trust"`
	Command string   `json:"command,omitzero"`
	Cwd     string   `json:"cwd,omitzero"`
	URIs    []string `json:"uris,omitzero"`
}

// PermissionOption is one answer that the user can give.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind" enum:"allow_once,allow_session,allow_always,reject_once,reject_always"`
	Pattern  string `json:"pattern,omitzero"`
}

// RequestPermissionResult is the user's choice. A result that names no option is a refusal.
type RequestPermissionResult struct {
	OptionID  string `json:"optionId,omitzero"`
	Feedback  string `json:"feedback,omitzero"`
	Cancelled bool   `json:"cancelled,omitzero"`
}

// AskParams asks the user a question.
type AskParams struct {
	RequestID string      `json:"requestId"`
	SessionID string      `json:"sessionId"`
	Question  string      `json:"question"`
	Options   []AskOption `json:"options,omitzero"`
	Multi     bool        `json:"multi,omitzero"`
}

// AskOption is one of the offered answers.
type AskOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// AskResult is the user's answer.
type AskResult struct {
	Answer   string `json:"answer,omitzero"`
	Declined bool   `json:"declined,omitzero"`
}

// PermissionListResult lists the permissions that the user gave for more than one call.
type PermissionListResult struct {
	Grants []Grant `json:"grants"`
}

// Grant is a permission that applies to more than one call.
type Grant struct {
	GrantID string `json:"grantId"`
	Pattern string `json:"pattern"`
	Scope   string `json:"scope" enum:"session,always"`
	Uses    int    `json:"uses"`
}

// PermissionRevokeParams revokes a grant.
type PermissionRevokeParams struct {
	GrantID string `json:"grantId"`
}
