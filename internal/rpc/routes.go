package rpc

import (
	"context"
	"maps"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/editor"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// routes maps each request to its route. initialize, shutdown and abort run on the reading
// goroutine, ahead of the queue. Requests whose order matters are queued. All other requests run
// concurrently.
var routes = map[string]route{}

// notices maps each notification to its handler. All handlers run on the reading goroutine, in
// order.
var notices map[string]notice

func init() {
	for _, part := range []map[string]route{
		lspRoutes(), sessionRoutes(), turnRoutes(), proposalRoutes(), otherRoutes(),
		catalogRoutes(),
	} {
		maps.Copy(routes, part)
	}
	notices = map[string]notice{
		conn.MethodInitialized:  (*server).initialized,
		conn.MethodExit:         (*server).exit,
		conn.MethodCancel:       (*server).cancelRequest,
		conn.MethodSetTrace:     (*server).setTrace,
		conn.MethodDidOpen:      noticeOf((*server).didOpen),
		conn.MethodDidChange:    noticeOf((*server).didChange),
		conn.MethodDidSave:      noticeOf((*server).didSave),
		conn.MethodDidClose:     noticeOf((*server).didClose),
		conn.MethodDidWatch:     (*server).didChangeWatchedFiles,
		conn.MethodDidRename:    (*server).didRenameFiles,
		conn.MethodDidFolders:   (*server).didChangeFolders,
		conn.MethodDidConfigure: (*server).didChangeConfiguration,
		conn.MethodCancelTask:   (*server).cancelProgress,
	}
}

func lspRoutes() map[string]route {
	return map[string]route{
		conn.MethodInitialize: raw(inline, (*server).initialize),
		conn.MethodShutdown:   raw(inline, (*server).shutdownRequest),
		conn.MethodExecute:    raw(free, (*server).executeCommand),
		conn.MethodCodeLens:   onEditor(free, (*editor.Features).CodeLenses),
		conn.MethodCodeAction: onEditor(free, (*editor.Features).CodeActions),
		conn.MethodContent:    onEditor(free, (*editor.Features).Content),
	}
}

func sessionRoutes() map[string]route {
	return map[string]route{
		wire.MethodSessionNew:       attaching(queued, agentapi.Sessions.New),
		wire.MethodSessionList:      attaching(free, agentapi.Sessions.List),
		wire.MethodSessionLoad:      attaching(queued, agentapi.Sessions.Load),
		wire.MethodSessionUpdate:    attaching(queued, agentapi.Sessions.Update),
		wire.MethodSessionConfigure: attaching(queued, agentapi.Sessions.Configure),
		wire.MethodSessionPause:     attaching(queued, agentapi.Sessions.Pause),
		wire.MethodSessionResume:    attaching(queued, agentapi.Sessions.Resume),
		wire.MethodSessionDelete:    attaching(queued, agentapi.Sessions.Delete),
		wire.MethodSessionFork:      attaching(queued, agentapi.Sessions.Fork),
		wire.MethodSessionExport:    attaching(free, agentapi.Sessions.Export),
		wire.MethodSessionImport:    attaching(queued, agentapi.Sessions.Import),
	}
}

func turnRoutes() map[string]route {
	return map[string]route{
		wire.MethodPrompt:      attaching(queued, agentapi.Turns.Prompt),
		wire.MethodSteer:       attaching(queued, agentapi.Turns.Steer),
		wire.MethodAbort:       on(inline, (*server).abort),
		wire.MethodContinue:    onAPI(queued, agentapi.Turns.Continue),
		wire.MethodQueueList:   onAPI(queued, agentapi.Turns.Queue),
		wire.MethodQueueRemove: onAPI(queued, agentapi.Turns.QueueRemove),
		wire.MethodQueueClear:  onAPI(queued, agentapi.Turns.QueueClear),
		wire.MethodTurnWait:    onAPI(free, agentapi.Turns.Wait),
	}
}

func proposalRoutes() map[string]route {
	return map[string]route{
		wire.MethodProposalList:    onAPI(free, agentapi.Proposals.List),
		wire.MethodProposalGet:     onAPI(free, agentapi.Proposals.Get),
		wire.MethodProposalResolve: onAPI(free, agentapi.Proposals.Resolve),

		wire.MethodCheckpointList:    onAPI(free, agentapi.Checkpoints.List),
		wire.MethodCheckpointDiff:    onAPI(free, agentapi.Checkpoints.Diff),
		wire.MethodCheckpointRestore: onAPI(queued, agentapi.Checkpoints.Restore),
	}
}

func otherRoutes() map[string]route {
	return map[string]route{
		wire.MethodPermissionList:   onAPI(free, agentapi.Permissions.List),
		wire.MethodPermissionRevoke: onAPI(free, agentapi.Permissions.Revoke),
		wire.MethodJobList:          onAPI(free, agentapi.Background.List),
		wire.MethodJobRead:          onAPI(free, agentapi.Background.Read),
		wire.MethodJobKill:          onAPI(free, agentapi.Background.Kill),
		wire.MethodCompact:          onAPI(free, agentapi.Turns.Compact),
		wire.MethodMemorySave:       onAPI(free, agentapi.Memories.Save),
		wire.MethodMemoryGet:        onAPI(free, agentapi.Memories.Get),
		wire.MethodMemorySearch:     onAPI(free, agentapi.Memories.Search),
		wire.MethodMemoryDelete:     onAPI(free, agentapi.Memories.Delete),
	}
}

func catalogRoutes() map[string]route {
	return map[string]route{
		wire.MethodModels:      onAPI(free, agentapi.Catalog.Models),
		wire.MethodToolsList:   onAPI(free, agentapi.Catalog.Tools),
		wire.MethodCommandList: onAPI(free, agentapi.Catalog.Commands),
		wire.MethodStatus:      onAPI(free, agentapi.Catalog.Status),
		wire.MethodFilesSearch: onAPI(free, agentapi.Catalog.Files),
	}
}

func (s *server) executeCommand(ctx context.Context, params []byte) (any, error) {
	return s.editor.ExecuteCommand(ctx, params)
}

// cancelProgress handles window/workDoneProgress/cancel.
func (s *server) cancelProgress(raw []byte) error {
	s.editor.CancelProgress(conn.ObjectFrom(raw).String("token"))
	return nil
}
