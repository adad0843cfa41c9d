package schema

import "github.com/agent-lsp/agent-lsp/internal/rpc/wire"

// method names a method and the types of its params and result. result is "" for a notification,
// and "any" if LSP itself defines the result.
type method struct {
	name, params, result string
}

// anyResult is the type of a result that LSP defines.
const anyResult = "any"

var requests = []method{
	{wire.MethodSessionNew, "SessionNewParams", "SessionNewResult"},
	{wire.MethodSessionList, "SessionListParams", "SessionListResult"},
	{wire.MethodSessionLoad, "SessionLoadParams", "SessionLoadResult"},
	{wire.MethodSessionUpdate, "SessionUpdateParams", "SessionUpdateResult"},
	{wire.MethodSessionConfigure, "SessionConfigureParams", "SessionConfigureResult"},
	{wire.MethodSessionFork, "SessionForkParams", "SessionResult"},
	{wire.MethodSessionPause, "SessionParams", "Empty"},
	{wire.MethodSessionResume, "SessionParams", "Empty"},
	{wire.MethodSessionDelete, "SessionParams", "Empty"},
	{wire.MethodSessionExport, "SessionExportParams", "SessionExportResult"},
	{wire.MethodSessionImport, "SessionImportParams", "SessionResult"},
	{wire.MethodPrompt, "PromptParams", "PromptResult"},
	{wire.MethodSteer, "SteerParams", "SteerResult"},
	{wire.MethodAbort, "AbortParams", "AbortResult"},
	{wire.MethodContinue, "SessionParams", "TurnResult"},
	{wire.MethodQueueList, "QueueParams", "QueueResult"},
	{wire.MethodQueueRemove, "QueueParams", "QueueResult"},
	{wire.MethodQueueClear, "QueueParams", "QueueResult"},
	{wire.MethodTurnWait, "TurnWaitParams", "Turn"},
	{wire.MethodProposalList, "ProposalListParams", "ProposalListResult"},
	{wire.MethodProposalGet, "ProposalParams", "ProposalGetResult"},
	{wire.MethodProposalResolve, "ProposalResolveParams", "ProposalResolveResult"},
	{wire.MethodCheckpointList, "CheckpointListParams", "CheckpointListResult"},
	{wire.MethodCheckpointDiff, "CheckpointParams", "CheckpointDiffResult"},
	{wire.MethodCheckpointRestore, "CheckpointRestoreParams", "CheckpointRestoreResult"},
	{wire.MethodPermissionList, "Empty", "PermissionListResult"},
	{wire.MethodPermissionRevoke, "PermissionRevokeParams", "Empty"},
	{wire.MethodJobList, "SessionParams", "JobListResult"},
	{wire.MethodJobRead, "JobParams", "JobReadResult"},
	{wire.MethodJobKill, "JobParams", "Empty"},
	{wire.MethodCompact, "CompactParams", "CompactResult"},
	{wire.MethodMemorySave, "MemorySaveParams", "Empty"},
	{wire.MethodMemoryGet, "MemoryKeyParams", "MemoryGetResult"},
	{wire.MethodMemorySearch, "MemorySearchParams", "MemorySearchResult"},
	{wire.MethodMemoryDelete, "MemoryKeyParams", "Empty"},
	{wire.MethodModels, "ModelsParams", "ModelsResult"},
	{wire.MethodToolsList, "Empty", "ToolsListResult"},
	{wire.MethodCommandList, "Empty", "CommandListResult"},
	{wire.MethodStatus, "Empty", "StatusResult"},
	{wire.MethodFilesSearch, "FilesSearchParams", "FilesSearchResult"},
}

var notifications = []method{
	{wire.MethodSessionUpdated, "SessionUpdated", ""},
	{wire.MethodTurnStarted, "TurnStarted", ""},
	{wire.MethodTurnCompleted, "TurnCompleted", ""},
	{wire.MethodItemStarted, "ItemEvent", ""},
	{wire.MethodItemUpdated, "ItemEvent", ""},
	{wire.MethodItemCompleted, "ItemEvent", ""},
	{wire.MethodDelta, "Delta", ""},
	{wire.MethodRetry, "RetryScheduled", ""},
	{wire.MethodCompaction, "Compaction", ""},
	{wire.MethodProposalCreated, "ProposalCreated", ""},
	{wire.MethodProposalUpdated, "ProposalChanged", ""},
	{wire.MethodProposalClosed, "ProposalChanged", ""},
	{wire.MethodRequestResolved, "RequestResolved", ""},
}

var serverRequests = []method{
	{wire.MethodRequestPermission, "RequestPermissionParams", "RequestPermissionResult"},
	{wire.MethodAsk, "AskParams", "AskResult"},
	{wire.MethodEditorQuery, "EditorQueryParams", anyResult},
	{wire.MethodEditorSave, "EditorSaveParams", "EditorSaveResult"},
	{wire.MethodEditorReveal, "EditorRevealParams", "EditorRevealResult"},
	{wire.MethodEditorShowDiff, "EditorShowDiffParams", "EditorShowDiffResult"},
	{wire.MethodEditorOpen, "EditorOpenParams", "EditorOpenResult"},
}
