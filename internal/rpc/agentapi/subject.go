package agentapi

// The requests are grouped by subject. A group is a view of the API for one client and costs
// nothing to create. For example: agentapi.Turns{API: api}.Prompt(ctx, params).
type (
	// Sessions answers agent/session/*.
	Sessions struct{ *API }
	// Turns answers the requests that start, change, end or wait for a turn: agent/prompt,
	// agent/steer, agent/abort, agent/continue, agent/queue/*, agent/turn/wait and agent/compact.
	Turns struct{ *API }
	// Proposals answers agent/proposal/*.
	Proposals struct{ *API }
	// Checkpoints answers agent/checkpoint/*.
	Checkpoints struct{ *API }
	// Memories answers agent/memory/*.
	Memories struct{ *API }
	// Permissions answers agent/permission/*.
	Permissions struct{ *API }
	// Background answers agent/job/*.
	Background struct{ *API }
	// Catalog answers requests about the daemon: its models, tools, commands, status and files.
	Catalog struct{ *API }
)

// Subject is any group of requests. Generic code creates one with Of.
type Subject interface{ ~struct{ *API } }

// Of returns a group of requests that api answers.
func Of[S Subject](api *API) S { return S{api} }
