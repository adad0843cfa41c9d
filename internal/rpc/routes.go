package rpc

import (
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// routes says how each request is handled. What must be seen in the order of the wire is
// queued; abort goes ahead of the queue; all else runs beside it.
var routes map[string]route

// notices says how each notification is handled; all run on the reading side, in order.
var notices map[string]notice

func init() {
	routes = map[string]route{
		methodInitialize: raw(inline, (*server).initialize),
		methodShutdown:   raw(inline, (*server).shutdownRequest),
		methodExecute:    raw(free, (*server).executeCommand),
		methodCodeLens:   on(free, (*server).codeLens),
		methodCodeAction: on(free, (*server).codeActions),
		methodContent:    on(free, (*server).textDocumentContent),

		wire.MethodSessionNew:       attaching(queued, (*server).sessionNew),
		wire.MethodSessionList:      attaching(free, (*server).sessionList),
		wire.MethodSessionLoad:      attaching(queued, (*server).sessionLoad),
		wire.MethodSessionUpdate:    attaching(queued, (*server).sessionUpdate),
		wire.MethodSessionConfigure: attaching(queued, (*server).sessionConfigure),
		wire.MethodSessionPause:     attaching(queued, (*server).sessionPause),
		wire.MethodSessionResume:    attaching(queued, (*server).sessionResume),
		wire.MethodSessionDelete:    attaching(queued, (*server).sessionDelete),
		wire.MethodSessionFork:      attaching(queued, (*server).sessionFork),
		wire.MethodSessionExport:    attaching(free, (*server).sessionExport),
		wire.MethodSessionImport:    attaching(queued, (*server).sessionImport),

		wire.MethodPrompt:      attaching(queued, (*server).prompt),
		wire.MethodSteer:       attaching(queued, (*server).steer),
		wire.MethodAbort:       on(inline, (*server).abort),
		wire.MethodContinue:    on(queued, (*server).continueTurn),
		wire.MethodQueueList:   on(queued, (*server).queueList),
		wire.MethodQueueRemove: on(queued, (*server).queueRemove),
		wire.MethodQueueClear:  on(queued, (*server).queueClear),
		wire.MethodTurnWait:    on(free, (*server).turnWait),

		wire.MethodProposalList:    on(free, (*server).proposalList),
		wire.MethodProposalGet:     on(free, (*server).proposalGet),
		wire.MethodProposalResolve: on(free, (*server).proposalResolve),

		wire.MethodCheckpointList:    on(free, (*server).checkpointList),
		wire.MethodCheckpointDiff:    on(free, (*server).checkpointDiff),
		wire.MethodCheckpointRestore: on(queued, (*server).checkpointRestore),

		wire.MethodPermissionList:   on(free, (*server).permissionList),
		wire.MethodPermissionRevoke: on(free, (*server).permissionRevoke),
		wire.MethodJobList:          on(free, (*server).jobList),
		wire.MethodJobRead:          on(free, (*server).jobRead),
		wire.MethodJobKill:          on(free, (*server).jobKill),
		wire.MethodCompact:          on(free, (*server).compact),
		wire.MethodMemorySave:       on(free, (*server).memorySave),
		wire.MethodMemoryGet:        on(free, (*server).memoryGet),
		wire.MethodMemorySearch:     on(free, (*server).memorySearch),
		wire.MethodMemoryDelete:     on(free, (*server).memoryDelete),

		wire.MethodModels:      on(free, (*server).models),
		wire.MethodToolsList:   on(free, (*server).tools),
		wire.MethodCommandList: on(free, (*server).commands),
		wire.MethodStatus:      on(free, (*server).status),
		wire.MethodFilesSearch: on(free, (*server).filesSearch),
	}
	notices = map[string]notice{
		methodInitialized:  (*server).initialized,
		methodExit:         (*server).exit,
		methodCancel:       (*server).cancelRequest,
		methodSetTrace:     (*server).setTrace,
		methodDidOpen:      told((*server).didOpen),
		methodDidChange:    told((*server).didChange),
		methodDidSave:      told((*server).didSave),
		methodDidClose:     told((*server).didClose),
		methodDidWatch:     (*server).didChangeWatchedFiles,
		methodDidRename:    (*server).didRenameFiles,
		methodDidFolders:   (*server).didChangeFolders,
		methodDidConfigure: (*server).didChangeConfiguration,
		methodCancelTask:   (*server).cancelProgress,
	}
}
