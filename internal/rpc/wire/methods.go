package wire

// Requests from the client to the server.
const (
	MethodSessionNew       = "agent/session/new"
	MethodSessionList      = "agent/session/list"
	MethodSessionLoad      = "agent/session/load"
	MethodSessionUpdate    = "agent/session/update"
	MethodSessionConfigure = "agent/session/configure"
	MethodSessionFork      = "agent/session/fork"
	MethodSessionPause     = "agent/session/pause"
	MethodSessionResume    = "agent/session/resume"
	MethodSessionDelete    = "agent/session/delete"
	MethodSessionExport    = "agent/session/export"
	MethodSessionImport    = "agent/session/import"

	MethodPrompt      = "agent/prompt"
	MethodSteer       = "agent/steer"
	MethodAbort       = "agent/abort"
	MethodContinue    = "agent/continue"
	MethodQueueList   = "agent/queue/list"
	MethodQueueRemove = "agent/queue/remove"
	MethodQueueClear  = "agent/queue/clear"
	MethodTurnWait    = "agent/turn/wait"

	MethodProposalList    = "agent/proposal/list"
	MethodProposalGet     = "agent/proposal/get"
	MethodProposalResolve = "agent/proposal/resolve"

	MethodCheckpointList    = "agent/checkpoint/list"
	MethodCheckpointDiff    = "agent/checkpoint/diff"
	MethodCheckpointRestore = "agent/checkpoint/restore"

	MethodPermissionList   = "agent/permission/list"
	MethodPermissionRevoke = "agent/permission/revoke"

	MethodJobList = "agent/job/list"
	MethodJobRead = "agent/job/read"
	MethodJobKill = "agent/job/kill"

	MethodCompact = "agent/compact"

	MethodMemorySave   = "agent/memory/save"
	MethodMemoryGet    = "agent/memory/get"
	MethodMemorySearch = "agent/memory/search"
	MethodMemoryDelete = "agent/memory/delete"

	MethodModels      = "agent/models"
	MethodToolsList   = "agent/tools/list"
	MethodCommandList = "agent/command/list"
	MethodStatus      = "agent/status"
	MethodFilesSearch = "agent/files/search"
)

// Notifications from the server to the client.
const (
	MethodSessionUpdated  = "agent/session/updated"
	MethodTurnStarted     = "agent/turn/started"
	MethodTurnCompleted   = "agent/turn/completed"
	MethodItemStarted     = "agent/item/started"
	MethodItemUpdated     = "agent/item/updated"
	MethodItemCompleted   = "agent/item/completed"
	MethodDelta           = "agent/delta"
	MethodRetry           = "agent/retry"
	MethodCompaction      = "agent/compaction"
	MethodProposalCreated = "agent/proposal/created"
	MethodProposalUpdated = "agent/proposal/updated"
	MethodProposalClosed  = "agent/proposal/closed"
	MethodRequestResolved = "agent/request/resolved"
)

// Requests from the server to the client.
const (
	MethodRequestPermission = "agent/requestPermission"
	MethodAsk               = "agent/ask"
	MethodEditorQuery       = "agent/editor/query"
	MethodEditorSave        = "agent/editor/save"
	MethodEditorReveal      = "agent/editor/reveal"
	MethodEditorShowDiff    = "agent/editor/showDiff"
	MethodEditorOpen        = "agent/editor/open"
)

// Requests lists the agent/* methods that a client may call, in the order of
// docs/reference/protocol.
var Requests = []string{
	MethodSessionNew, MethodSessionList, MethodSessionLoad, MethodSessionUpdate,
	MethodSessionConfigure,
	MethodSessionFork, MethodSessionPause, MethodSessionResume, MethodSessionDelete,
	MethodSessionExport, MethodSessionImport,
	MethodPrompt, MethodSteer, MethodAbort, MethodContinue, MethodQueueList, MethodQueueRemove,
	MethodQueueClear, MethodTurnWait,
	MethodProposalList, MethodProposalGet, MethodProposalResolve,
	MethodCheckpointList, MethodCheckpointDiff, MethodCheckpointRestore,
	MethodPermissionList, MethodPermissionRevoke, MethodJobList, MethodJobRead, MethodJobKill,
	MethodCompact,
	MethodMemorySave, MethodMemoryGet, MethodMemorySearch, MethodMemoryDelete,
	MethodModels, MethodToolsList, MethodCommandList, MethodStatus, MethodFilesSearch,
}

// Notifications lists the agent/* notifications that the server sends.
var Notifications = []string{
	MethodSessionUpdated, MethodTurnStarted, MethodTurnCompleted,
	MethodItemStarted, MethodItemUpdated, MethodItemCompleted, MethodDelta, MethodRetry,
	MethodCompaction,
	MethodProposalCreated, MethodProposalUpdated, MethodProposalClosed, MethodRequestResolved,
}

// ServerRequests lists the agent/* requests that the server may send to a client that claims
// support for them.
var ServerRequests = []string{
	MethodRequestPermission, MethodAsk, MethodEditorQuery, MethodEditorSave, MethodEditorReveal,
	MethodEditorShowDiff, MethodEditorOpen,
}
