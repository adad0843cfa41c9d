package conn

// The LSP methods that the server answers or uses.
const (
	MethodInitialize    = "initialize"
	MethodInitialized   = "initialized"
	MethodShutdown      = "shutdown"
	MethodExit          = "exit"
	MethodCancel        = "$/cancelRequest"
	MethodSetTrace      = "$/setTrace"
	MethodDidOpen       = "textDocument/didOpen"
	MethodDidChange     = "textDocument/didChange"
	MethodDidSave       = "textDocument/didSave"
	MethodDidClose      = "textDocument/didClose"
	MethodDidFolders    = "workspace/didChangeWorkspaceFolders"
	MethodDidConfigure  = "workspace/didChangeConfiguration"
	MethodExecute       = "workspace/executeCommand"
	MethodCancelTask    = "window/workDoneProgress/cancel"
	MethodApplyEdit     = "workspace/applyEdit"
	MethodShowMessage   = "window/showMessage"
	MethodAskMessage    = "window/showMessageRequest"
	MethodLogMessage    = "window/logMessage"
	MethodConfiguration = "workspace/configuration"
	MethodProgress      = "$/progress"
	MethodCodeLens      = "textDocument/codeLens"
	MethodCodeAction    = "textDocument/codeAction"
	MethodDiagnostics   = "textDocument/publishDiagnostics"
	MethodRefreshLenses = "workspace/codeLens/refresh"
	MethodShowDocument  = "window/showDocument"
	MethodNewProgress   = "window/workDoneProgress/create"
	MethodRegister      = "client/registerCapability"
	MethodDidWatch      = "workspace/didChangeWatchedFiles"
	MethodDidRename     = "workspace/didRenameFiles"

	MethodContent        = "workspace/textDocumentContent"
	MethodRefreshContent = "workspace/textDocumentContent/refresh"
)

// The types of window/showMessage and window/logMessage.
const (
	MessageError   = 1
	MessageWarning = 2
	MessageInfo    = 3
	MessageLog     = 4
)
