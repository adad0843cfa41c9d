package agentapi

// The requests are grouped by what they are about. A group is a view of the API for one client and
// costs nothing to make: agentapi.Turns{API: api}.Prompt(ctx, params).
type (
	// Sessions answers agent/session/*.
	Sessions struct{ *API }
	// Turns answers what begins, changes, ends or awaits a turn: agent/prompt, agent/steer,
	// agent/abort, agent/continue, agent/queue/*, agent/turn/wait and agent/compact.
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
	// Catalog answers what a client may ask about the daemon: its models, tools, commands, status
	// and files.
	Catalog struct{ *API }
)

// Subject is any group of requests. Of makes one, for code that is generic in the request.
type Subject interface{ ~struct{ *API } }

// Of returns a group of the requests that api answers.
func Of[S Subject](api *API) S { return S{api} }
