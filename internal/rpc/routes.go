package rpc

import (
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
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

		wire.MethodSessionNew:       attaching(queued, (*agentapi.API).SessionNew),
		wire.MethodSessionList:      attaching(free, (*agentapi.API).SessionList),
		wire.MethodSessionLoad:      attaching(queued, (*agentapi.API).SessionLoad),
		wire.MethodSessionUpdate:    attaching(queued, (*agentapi.API).SessionUpdate),
		wire.MethodSessionConfigure: attaching(queued, (*agentapi.API).SessionConfigure),
		wire.MethodSessionPause:     attaching(queued, (*agentapi.API).SessionPause),
		wire.MethodSessionResume:    attaching(queued, (*agentapi.API).SessionResume),
		wire.MethodSessionDelete:    attaching(queued, (*agentapi.API).SessionDelete),
		wire.MethodSessionFork:      attaching(queued, (*agentapi.API).SessionFork),
		wire.MethodSessionExport:    attaching(free, (*agentapi.API).SessionExport),
		wire.MethodSessionImport:    attaching(queued, (*agentapi.API).SessionImport),

		wire.MethodPrompt:      attaching(queued, (*agentapi.API).Prompt),
		wire.MethodSteer:       attaching(queued, (*agentapi.API).Steer),
		wire.MethodAbort:       on(inline, (*server).abort),
		wire.MethodContinue:    onAPI(queued, (*agentapi.API).ContinueTurn),
		wire.MethodQueueList:   onAPI(queued, (*agentapi.API).QueueList),
		wire.MethodQueueRemove: onAPI(queued, (*agentapi.API).QueueRemove),
		wire.MethodQueueClear:  onAPI(queued, (*agentapi.API).QueueClear),
		wire.MethodTurnWait:    onAPI(free, (*agentapi.API).TurnWait),

		wire.MethodProposalList:    onAPI(free, (*agentapi.API).ProposalList),
		wire.MethodProposalGet:     onAPI(free, (*agentapi.API).ProposalGet),
		wire.MethodProposalResolve: onAPI(free, (*agentapi.API).ProposalResolve),

		wire.MethodCheckpointList:    onAPI(free, (*agentapi.API).CheckpointList),
		wire.MethodCheckpointDiff:    onAPI(free, (*agentapi.API).CheckpointDiff),
		wire.MethodCheckpointRestore: onAPI(queued, (*agentapi.API).CheckpointRestore),

		wire.MethodPermissionList:   onAPI(free, (*agentapi.API).PermissionList),
		wire.MethodPermissionRevoke: onAPI(free, (*agentapi.API).PermissionRevoke),
		wire.MethodJobList:          onAPI(free, (*agentapi.API).JobList),
		wire.MethodJobRead:          onAPI(free, (*agentapi.API).JobRead),
		wire.MethodJobKill:          onAPI(free, (*agentapi.API).JobKill),
		wire.MethodCompact:          onAPI(free, (*agentapi.API).Compact),
		wire.MethodMemorySave:       onAPI(free, (*agentapi.API).MemorySave),
		wire.MethodMemoryGet:        onAPI(free, (*agentapi.API).MemoryGet),
		wire.MethodMemorySearch:     onAPI(free, (*agentapi.API).MemorySearch),
		wire.MethodMemoryDelete:     onAPI(free, (*agentapi.API).MemoryDelete),

		wire.MethodModels:      onAPI(free, (*agentapi.API).Models),
		wire.MethodToolsList:   onAPI(free, (*agentapi.API).Tools),
		wire.MethodCommandList: onAPI(free, (*agentapi.API).Commands),
		wire.MethodStatus:      onAPI(free, (*agentapi.API).Status),
		wire.MethodFilesSearch: onAPI(free, (*agentapi.API).FilesSearch),
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
