package tool

// Subject is the subject of a permission request. The approver shows it to the user and matches
// rules against it.
type Subject struct {
	Kind    SubjectKind
	Title   string   // "Run go test ./..."
	Command string   // for kind command, the exact text
	Cwd     string   // kind command
	Paths   []string // affected absolute paths or URIs
	Name    string   // for kind mcp, the tool's name in agent-lsp; for kind network, the host
	Origin  string   // for kind mcp, "server/tool" with the original names
	Unboxed bool     // for kind command, whether the model requested to run it outside the sandbox
}

// SubjectKind is the kind of a permission's subject.
type SubjectKind string

// The kinds of permission subjects.
const (
	SubjectCommand SubjectKind = "command"
	SubjectEdit    SubjectKind = "edit"
	SubjectRead    SubjectKind = "read"
	SubjectMCP     SubjectKind = "mcp"
	SubjectNetwork SubjectKind = "network"
	SubjectTrust   SubjectKind = "trust"
)
