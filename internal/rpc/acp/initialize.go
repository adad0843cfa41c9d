package acp

import (
	"context"

	"github.com/coder/acp-go-sdk"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// authMethod is the only method that authenticate accepts. Keys come from elsewhere, such as the
// environment, so authenticate only checks that a provider is configured.
const authMethod = "provider"

// method handles one request. It calls free when later messages may be handled concurrently.
type method func(a *adapter, ctx context.Context, params []byte, free func()) (any, error)

// methods lists the methods that a client may call. init sets it, because the handlers refer to it.
var methods map[string]method

func init() {
	methods = map[string]method{
		acp.AgentMethodInitialize:             (*adapter).initialize,
		acp.AgentMethodAuthenticate:           freely((*adapter).authenticate),
		acp.AgentMethodLogout:                 freely((*adapter).logout),
		acp.AgentMethodSessionNew:             freely((*adapter).sessionNew),
		acp.AgentMethodSessionLoad:            freely((*adapter).sessionLoad),
		acp.AgentMethodSessionResume:          freely((*adapter).sessionResume),
		acp.AgentMethodSessionList:            freely((*adapter).sessionList),
		acp.AgentMethodSessionClose:           freely((*adapter).sessionClose),
		methodDelete:                          freely((*adapter).sessionDelete),
		acp.AgentMethodSessionPrompt:          (*adapter).prompt,
		acp.AgentMethodSessionSetMode:         freely((*adapter).setMode),
		acp.AgentMethodSessionSetConfigOption: freely((*adapter).setConfigOption),
		methodSteering:                        freely((*adapter).steering),
	}
}

// freely makes a method from a typed handler that may run in any order.
func freely[P any](f func(a *adapter, ctx context.Context, p *P) (any, error)) method {
	return func(a *adapter, ctx context.Context, params []byte, free func()) (any, error) {
		p := new(P)
		if err := decode(params, p); err != nil {
			return nil, err
		}
		free()
		return f(a, ctx, p)
	}
}

// initialize answers immediately. At the same time, it starts the core that the first session will
// probably need.
func (a *adapter) initialize(_ context.Context, params []byte, _ func()) (any, error) {
	var p acp.InitializeRequest
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if a.ready.Load() {
		return nil, fail(codeInvalidRequest, "initialize was sent twice")
	}
	a.client = p.ClientCapabilities
	a.ready.Store(true)
	a.background(a.startAhead)
	empty := map[string]any{}
	return map[string]any{
		"protocolVersion": acp.ProtocolVersionNumber,
		"agentInfo": acp.Implementation{Name: "agent-lsp", Title: acp.Ptr("agent-lsp"),
			Version: a.opts.Version},
		"agentCapabilities": map[string]any{
			"loadSession": true,
			"promptCapabilities": map[string]any{"image": true, "audio": false,
				"embeddedContext": true},
			"mcpCapabilities": map[string]any{"http": true, "sse": false},
			"sessionCapabilities": map[string]any{
				"list": empty, "resume": empty, "close": empty, "delete": empty,
				"additionalDirectories": empty},
			"auth": empty,
		},
		"authMethods": authMethods(&p.ClientCapabilities),
		"_meta": map[string]any{
			"steering": map[string]any{"supported": true},
			"agentLsp": map[string]any{"version": wire.Version, "hunks": true},
		},
	}, nil
}

// authMethods returns the authentication methods. In a terminal, the client runs `agent-lsp acp
// login`.
func authMethods(client *acp.ClientCapabilities) []any {
	methods := []any{acp.AuthMethodAgent{
		Id: authMethod, Name: "Model provider",
		Description: acp.Ptr("Set OPENAI_API_KEY (and OPENAI_BASE_URL), or provider.baseUrl in " +
			"the settings, or start a local OpenAI-compatible server."),
	}}
	if client.Auth.Terminal {
		methods = append(methods, acp.AuthMethodTerminalInline{
			Id: "login", Type: "terminal", Name: "Store a key", Args: []string{"login"},
			Description: acp.Ptr("Asks for a model provider's API key in a terminal and stores it."),
		})
	}
	return methods
}

func (a *adapter) authenticate(ctx context.Context, p *acp.AuthenticateRequest) (any, error) {
	if p.MethodId != authMethod {
		return nil, fail(codeInvalidParams, "methodId: unknown authentication method %q",
			p.MethodId)
	}
	c, err := a.coreFor(ctx, launchDir(), nil, nil)
	if err != nil {
		return nil, err
	}
	st, err := ask(ctx, c, agentapi.Catalog.Status, wire.Empty{})
	if err != nil {
		return nil, err
	}
	if !st.Provider.Configured {
		return nil, fail(codeAuthRequired, "no model provider is configured: %s", st.Provider.Hint)
	}
	return struct{}{}, nil
}

// logout does not delete stored keys. The user can delete them with `agent-lsp logout`.
func (a *adapter) logout(context.Context, *struct{}) (any, error) { return struct{}{}, nil }
