package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// serverTool is one tool of a server.
type serverTool struct {
	server *server
	remote string // the tool's name on the server
	spec   tool.Spec
}

var _ tool.Tool = (*serverTool)(nil)

func newTool(s *server, t *sdk.Tool) *serverTool {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || !strings.HasPrefix(string(schema), "{") {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	effect := tool.Mutates
	if t.Annotations != nil && t.Annotations.ReadOnlyHint {
		effect = tool.ReadOnly
	}
	label := t.Title
	if label == "" {
		label = t.Name
	}
	return &serverTool{server: s, remote: t.Name, spec: tool.Spec{
		Name: s.toolName(t.Name), Label: s.conf.Name + ": " + label,
		Description: clip.Bytes(t.Description, maxDescription),
		Schema:      schema, Effect: effect, Source: "mcp:" + s.conf.Name, Deferred: true,
		Timeout: s.timeout(),
	}}
}

func (s *server) timeout() time.Duration {
	if s.conf.Timeout > 0 {
		return s.conf.Timeout
	}
	return CallTimeout
}

func (t *serverTool) Spec() tool.Spec { return t.spec }

// Prepare does not validate the arguments, because the server does.
func (t *serverTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	origin := t.server.conf.Name + "/" + t.remote
	return &tool.Prepared{
		Subject: &tool.Subject{
			Kind: tool.SubjectMCP, Title: "Call " + t.remote + " of the MCP server " +
				t.server.conf.Name,
			Name: t.spec.Name, Origin: origin,
			// Clients that show Command show nothing else about the call.
			Command: origin + " " + string(call.Args),
		},
		Run: t.call,
	}, nil
}

// tokens numbers the calls whose progress is reported.
var tokens atomic.Int64

func (t *serverTool) call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	session, err := t.server.ready(ctx)
	if err != nil {
		return nil, err
	}
	token := fmt.Sprintf("p%d", tokens.Add(1))
	defer t.server.watch(token, call.Emit)()
	defer t.server.calling(ctx, call)()
	params := &sdk.CallToolParams{Name: t.remote, Arguments: call.Args}
	params.SetProgressToken(token)
	res, err := session.CallTool(ctx, params)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF) {
			t.server.lost(session, err)
		}
		return nil, fmt.Errorf("calling %s of the MCP server %s: %w", t.remote, t.server.conf.Name,
			err)
	}
	t.server.relisted(ctx)
	return result(res), nil
}

// result converts a server's result to a tool.Result. Structured content is used if there is no
// text.
func result(res *sdk.CallToolResult) *tool.Result {
	out := &tool.Result{IsError: res.IsError}
	var text []string
	var shown images
	for _, c := range res.Content {
		s, b := contentText(c), contentBlock(c)
		if b != nil {
			if why := shown.add(b); why != "" {
				s, b = s+" is not shown, because "+why, nil
			}
		}
		if s != "" {
			text = append(text, s)
		}
		if b != nil {
			out.Content = append(out.Content, *b)
		}
	}
	if res.StructuredContent != nil {
		if b, err := json.Marshal(res.StructuredContent); err == nil {
			if len(b) <= maxDetails {
				out.Details = b
			}
			if len(text) == 0 {
				text = append(text, string(b))
			}
		}
	}
	out.Text = strings.Join(text, "\n")
	if out.Text == "" && len(out.Content) == 0 {
		out.Text = "(no output)"
	}
	return out
}

func contentText(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %s]", c.MIMEType)
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes: cannot be shown]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s %s]", c.URI, c.Description)
	case *sdk.EmbeddedResource:
		return resourceText(c.Resource)
	}
	return ""
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return r.URI + ":\n" + r.Text
	}
	return fmt.Sprintf("[%s: %s, %d bytes]", r.URI, r.MIMEType, len(r.Blob))
}

// contentBlock returns the image in a content block, or nil if the block contains no image.
func contentBlock(c sdk.Content) *message.Block {
	if img, ok := c.(*sdk.ImageContent); ok {
		return &message.Block{Type: message.Image, MimeType: img.MIMEType, Data: img.Data}
	}
	if r, ok := c.(*sdk.EmbeddedResource); ok && r.Resource != nil &&
		strings.HasPrefix(r.Resource.MIMEType, "image/") && len(r.Resource.Blob) > 0 {
		return &message.Block{Type: message.Image, MimeType: r.Resource.MIMEType,
			Data: r.Resource.Blob}
	}
	return nil
}

// resources lists and reads a server's resources.
type resources struct {
	server *server
	spec   tool.Spec
}

var _ tool.Tool = (*resources)(nil)

// maxResources limits the length of a listing.
const maxResources = 200

func newResources(s *server) *resources {
	return &resources{s, tool.Spec{
		Name: s.toolName("resources"), Label: s.conf.Name + ": resources",
		Description: "List the resources of the MCP server " + s.conf.Name +
			", or read one by its uri.",
		Schema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string",` +
			`"description":"URI of the resource to read; omit it to list all resources"}}}`),
		Effect: tool.ReadOnly, Source: "mcp:" + s.conf.Name, Deferred: true,
		Timeout: s.timeout(),
	}}
}

func (r *resources) Spec() tool.Spec { return r.spec }

func (r *resources) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var args struct{ URI string }
	if err := call.Decode(&args); err != nil {
		return nil, err
	}
	return &tool.Prepared{
		Subject: r.subject(args.URI),
		Run: func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			session, err := r.server.ready(ctx)
			if err != nil {
				return nil, err
			}
			if args.URI == "" {
				return r.list(ctx, session)
			}
			return r.read(ctx, session, args.URI)
		},
	}, nil
}

// subject returns the subject of a permission to use the resources. A server may use the URI of a
// request for any purpose, so a request needs the same permission as a call of a tool.
func (r *resources) subject(uri string) *tool.Subject {
	server := r.server.conf.Name
	s := &tool.Subject{
		Kind: tool.SubjectMCP, Title: "List the resources of the MCP server " + server,
		Name: r.spec.Name, Origin: server + "/resources", Command: server + "/resources",
	}
	if uri != "" {
		s.Title = "Read a resource of the MCP server " + server
		s.Command += " " + uri
	}
	return s
}

func (r *resources) read(
	ctx context.Context,
	session *sdk.ClientSession,
	uri string,
) (*tool.Result, error) {
	res, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", uri, err)
	}
	content := make([]sdk.Content, len(res.Contents))
	for i, c := range res.Contents {
		content[i] = &sdk.EmbeddedResource{Resource: c}
	}
	return result(&sdk.CallToolResult{Content: content}), nil
}

func (r *resources) list(ctx context.Context, session *sdk.ClientSession) (*tool.Result, error) {
	var b strings.Builder
	n := 0
	for res, err := range session.Resources(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("listing resources: %w", err)
		}
		if n++; n > maxResources {
			fmt.Fprintf(&b, "(more than %d; name one by its uri)\n", maxResources)
			break
		}
		fmt.Fprintf(&b, "%s  %s %s\n", res.URI, res.Name, clip.Bytes(res.Description, 200))
	}
	if n == 0 {
		return nil, errors.New("the server has no resources")
	}
	return &tool.Result{Text: b.String()}, nil
}
