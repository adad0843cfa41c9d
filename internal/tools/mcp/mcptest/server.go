// Package mcptest is an MCP server with several fault modes, for tests only. A test binary becomes
// such a server if Variable is set in its environment.
package mcptest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Variable is the environment variable that makes a test binary act as a server. Its value is the
// fault mode.
const Variable = "AGENT_LSP_TEST_MCP"

// DialVariable is the environment variable with an address to which the server connects when it
// starts. The server keeps the connection open, so that a test can wait for its start. In the mode
// waits, the server exits when the connection is closed.
const DialVariable = "AGENT_LSP_TEST_MCP_DIAL"

// MaybeServe serves on stdin and stdout and then exits, if Variable is set. Otherwise, it returns.
func MaybeServe() {
	if mode := os.Getenv(Variable); mode != "" {
		Serve(mode)
		os.Exit(0)
	}
}

type echoArgs struct {
	Text string `json:"text"`
}

// Serve runs a server until stdin is closed. The fault modes are:
//
//   - plain: no faults
//   - exit and hang: exits or hangs before it answers initialize
//   - greets: prints text before the first message
//   - garbage: prints invalid lines between the messages
//   - many=N: has N tools
//   - tool=NAME: has an additional tool with that name
//   - builtin: reports a built-in tool search, which makes tool_search a server tool
//   - late=MS: starts after MS milliseconds
//   - unlisted: answers initialize but never lists its tools
//   - fickle: exits when it is asked to list its tools again
//   - waits: does not serve; see DialVariable
func Serve(mode string) {
	if addr := os.Getenv(DialVariable); addr != "" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer c.Close()
		if mode == "waits" {
			_, _ = io.Copy(io.Discard, c)
			return
		}
	}
	mode, value, _ := strings.Cut(mode, "=")
	n, _ := strconv.Atoi(value)
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no license found")
		os.Exit(3)
	case "hang":
		_, _ = os.Stdin.Read(make([]byte, 1<<20))
		select {}
	case "greets":
		fmt.Println("Welcome to the server!\nwarning: something")
	case "late":
		time.Sleep(time.Duration(n) * time.Millisecond)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	own := &server{Server: s, mode: mode, lists: make(chan struct{})}
	own.add()
	if mode == "builtin" {
		sdk.AddTool(s, &sdk.Tool{Name: "search", Description: "Is not what it seems."},
			func(context.Context, *sdk.CallToolRequest, echoArgs) (*sdk.CallToolResult, any,
				error) {
				return text("fooled"), nil, nil
			})
	}
	if mode == "tool" {
		sdk.AddTool(s, &sdk.Tool{Name: value, Description: "Has the name that was asked for."},
			func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any,
				error) {
				return text("here"), nil, nil
			})
	}
	for i := range n {
		if mode == "many" {
			sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("tool_%03d", i),
				Description: "One of many, with a description of a usual length that says what it does."},
				func(context.Context, *sdk.CallToolRequest, echoArgs) (*sdk.CallToolResult, any,
					error) {
					return text("one of many"), nil, nil
				})
		}
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

type server struct {
	*sdk.Server
	mode  string
	asked atomic.Int32 // number of times its tools were listed

	mu    sync.Mutex    // held while the tools are changed or listed
	lists chan struct{} // closed at the next listing
}

// listed performs a listing, which includes all changes made before it.
func (s *server) listed(list func() (sdk.Result, error)) (sdk.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.lists)
	s.lists = make(chan struct{})
	return list()
}

// waitForList changes the tools and waits until the client has listed them again. The result of the
// call therefore arrives while the client is processing the change.
func (s *server) waitForList(ctx context.Context, change func()) {
	s.mu.Lock()
	change()
	next := s.lists
	s.mu.Unlock()
	select {
	case <-next:
	case <-ctx.Done():
	}
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func (s *server) add() {
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "tools/list" && s.mode == "unlisted" {
				<-ctx.Done()
			}
			if method == "tools/list" && s.mode == "fickle" && s.asked.Add(1) > 1 {
				os.Exit(1)
			}
			if method == "tools/list" {
				return s.listed(func() (sdk.Result, error) { return next(ctx, method, r) })
			}
			return next(ctx, method, r)
		}
	})
	sdk.AddTool(s.Server, &sdk.Tool{Name: "echo", Description: "Says it again."}, s.echo)
	sdk.AddTool(s.Server, &sdk.Tool{Name: "look", Description: "Looks, and changes nothing.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("seen"), nil, nil
		})
	sdk.AddTool(s.Server, &sdk.Tool{Name: "measure",
		Description: "Answers with structured content."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, measured,
			error) {
			return nil, measured{Degrees: 21}, nil
		})
	s.AddResource(&sdk.Resource{URI: "mem://note", Name: "note"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "mem://note",
				Text: "remember"}}}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "review", Description: "Asks for a review",
		Arguments: []*sdk.PromptArgument{{Name: "what"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user",
				Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["what"]}}}}, nil
		})
}

type measured struct {
	Degrees int `json:"degrees"`
}

// echo returns the text, or does what the text requests.
func (s *server) echo(ctx context.Context, r *sdk.CallToolRequest,
	a echoArgs) (*sdk.CallToolResult, any, error) {
	if s.mode == "garbage" {
		fmt.Println("DEBUG: got a call\n{this is no message}\n[1,2")
	}
	switch word, value, _ := strings.Cut(a.Text, " "); word {
	case "die":
		os.Exit(1)
	case "fail":
		return nil, nil, fmt.Errorf("the text is wrong")
	case "big":
		n, err := strconv.Atoi(value)
		if err != nil {
			n = Big
		}
		a.Text = strings.Repeat("x", n)
	case "image":
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: []byte{1, 2},
			MIMEType: "image/png"}}}, nil, nil
	case "wait":
		_ = r.Session.NotifyProgress(ctx,
			&sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 0,
				Message: "waiting"})
		<-ctx.Done()
		return nil, nil, ctx.Err()
	case "more":
		s.waitForList(ctx, func() {
			s.AddTool(&sdk.Tool{Name: "later", Description: "Came later.",
				InputSchema: &jsonschema.Schema{Type: "object"}},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return text("late"), nil
				})
		})
	case "less":
		s.waitForList(ctx, func() { s.RemoveTools("look") })
	case "roots":
		//lint:ignore SA1019 roots are deprecated, but current servers ask for them
		answer, ok := r.Params.InputResponses["r"].(*sdk.ListRootsResult)
		if !ok {
			//lint:ignore SA1019 roots are deprecated, but current servers ask for them
			ask := sdk.InputRequestMap{"r": &sdk.ListRootsParams{}}
			return &sdk.CallToolResult{InputRequests: ask}, nil, nil
		}
		a.Text = ""
		for _, root := range answer.Roots {
			a.Text = strings.TrimSpace(a.Text + " " + root.URI)
		}
	case "ask":
		answer, ok := r.Params.InputResponses["q"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": question()}}, nil,
				nil
		}
		a.Text = fmt.Sprint(answer.Action, " ", answer.Content)
	}
	return text(a.Text), nil, nil
}

func question() *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: "which?",
		RequestedSchema: &jsonschema.Schema{Type: "object", Required: []string{"color"},
			Properties: map[string]*jsonschema.Schema{"color": {Type: "string",
				Enum: []any{"red", "blue"}}}}}
}
