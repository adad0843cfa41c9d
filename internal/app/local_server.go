package app

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// localServers decides whether prompts may go to a local model server that the user did not choose,
// such as one that was found by probing. Any program can listen on a local port, so the user is
// asked first. The answer is valid for the URL and the program that listens there. It is safe for
// concurrent use.
type localServers struct {
	file    *config.TrustFile
	policy  func() *policy.Engine
	canAsk  func() bool
	notices *notices
	turn    chan struct{} // semaphore, held while the user is asked

	mu   sync.Mutex
	kept map[string]bool // answers that the file does not contain, by foundServer.key
}

func (d *daemon) newLocalServers() *localServers {
	return &localServers{
		file:   config.NewTrustFile(d.folders.file("local-servers.json")),
		policy: func() *policy.Engine { return d.policy }, canAsk: d.questions.CanAsk,
		notices: d.notices, turn: make(chan struct{}, 1), kept: map[string]bool{},
	}
}

// foundServer is a local model server that the user did not choose, together with the programs that
// now listen on its port.
type foundServer struct {
	*localServers
	endpoint *config.Endpoint
	owners   []string // executables or users; empty if they cannot be determined
}

var _ policy.TrustStore = foundServer{}

// connectTimeout limits the check of whether a server still listens.
const connectTimeout = time.Second

// look returns the current state of a server. running is false if nothing listens at its address.
func (l *localServers) look(e *config.Endpoint) (s foundServer, running bool) {
	address := hostOf(e.BaseURL)
	s = foundServer{l, e, listeners(address)}
	if len(s.owners) > 0 {
		return s, true
	}
	conn, err := net.DialTimeout("tcp", address, connectTimeout)
	if err != nil {
		return s, false
	}
	_ = conn.Close()
	return s, true
}

// answered returns the current state of a server. known is true if the user need not be asked,
// because the answer is known or nothing listens there. If the user refused, err explains that.
func (l *localServers) answered(e *config.Endpoint) (s foundServer, known bool, err error) {
	s, running := l.look(e)
	trusted, asked := s.Trusts(e.BaseURL)
	if running && asked && !trusted {
		err = s.withheld()
	}
	return s, asked || !running, err
}

// ready returns an error if a turn cannot start because the user has refused this server or cannot
// be asked.
func (l *localServers) ready(e *config.Endpoint) error {
	s, known, err := l.answered(e)
	if known || l.canAsk() {
		return err
	}
	return s.unset(s.name()+" was found but is not configured, and no client can ask you "+
		"whether to send prompts to it",
		", or send the first prompt from an editor or a terminal, where you are asked")
}

// agree asks the user about a server, unless the answer is known. It returns an error if prompts
// may not go there. If nothing listens there, it does not ask, and agreed later returns the error.
func (l *localServers) agree(
	ctx context.Context, e *config.Endpoint, r tool.ApprovalRequest,
) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s, known, err := l.answered(e)
	if known {
		return err
	}
	allowed, err := l.policy().AskTrust(ctx, s, s.question(r))
	switch {
	case allowed && err != nil: // the answer is valid, but it could not be stored
		l.notices.send("warning", err.Error())
		return nil
	case err != nil || allowed:
		return err
	}
	return s.withheld()
}

// agreed returns an error if a prompt may not go to a server. It is called immediately before each
// request, because another program may have replaced the server since the user agreed.
func (l *localServers) agreed(e *config.Endpoint) error {
	s, running := l.look(e)
	trusted, _ := s.Trusts(e.BaseURL)
	switch {
	case !running:
		return &retry.Error{Kind: retry.Transient, Message: s.name() + " no longer responds"}
	case trusted:
		return nil
	}
	return notCalled(s.withheld())
}

// find finds the provider of a reference. The user must agree before prompts go to a local server
// that they did not choose, as for a server that was found by probing.
func (p *providers) find(
	ctx context.Context,
	c *config.Config,
	r config.Reference,
) (*config.Endpoint, error) {
	e, err := p.resolved(ctx, c, r)
	if err != nil || p.script != nil || !c.Doubtful(r.Provider) {
		return e, err
	}
	doubtful := *e
	doubtful.Probed = true
	return &doubtful, nil
}

// mayPrompt returns an error if prompts and other text may not be sent to an endpoint. Only a local
// server that the user did not choose needs the user's consent.
func (p *providers) mayPrompt(e *config.Endpoint) error {
	if !e.Probed {
		return nil
	}
	return p.local.agreed(e)
}

// agree asks the user about the server of the session's model, if the server was found by probing
// or is a local server that the user did not choose.
func (p *sessionParts) agree(ctx context.Context, turnID string, c *config.Config) error {
	e, err := p.d.providers.endpoint(ctx, c)
	if err != nil || !e.Probed {
		return nil // the step reports the error
	}
	return p.d.providers.local.agree(ctx, e, tool.ApprovalRequest{
		SessionID: p.info.ID, TurnID: turnID,
	})
}

// name returns the server's name and URL for the user.
func (s foundServer) name() string { return s.endpoint.Name + " at " + s.endpoint.BaseURL }

func (s foundServer) question(r tool.ApprovalRequest) policy.TrustQuestion {
	q := policy.TrustQuestion{
		Request: r, Root: s.endpoint.BaseURL,
		Subject: tool.Subject{
			Kind: tool.SubjectNetwork, Title: "Send prompts to " + s.name() + "?",
			Name: hostOf(s.endpoint.BaseURL),
		},
		Reason: s.origin() + "; it is not known which program listens there, so you are asked " +
			"again after a restart",
		Allow: "Allow: send prompts to it", Reject: "Reject: do not use it",
	}
	if len(s.owners) > 0 {
		q.Reason = s.origin() + "; the answer is remembered for the program that listens there: " +
			visible.Text(strings.Join(s.owners, ", "))
	}
	return q
}

// origin explains why the server would get prompts.
func (s foundServer) origin() string {
	if s.endpoint.ID != "" {
		return "your own settings do not name this server, but the workspace's settings " +
			"or the id of the chosen model do"
	}
	return "no provider is configured, and this server was found on its usual port"
}

// withheld returns the error for a server that the user has refused or has not been asked about.
func (s foundServer) withheld() error {
	if _, asked := s.Trusts(s.endpoint.BaseURL); asked {
		return s.unset("you refused to send prompts to "+s.name(),
			", or configure another provider")
	}
	return s.unset(s.name()+" gets no prompts because you have not allowed it",
		", or send the prompt again and allow it")
}

// unset returns the error for a prompt that may not go to the server.
func (s foundServer) unset(reason, otherwise string) error {
	return &config.NotConfiguredError{Reason: reason, Hint: fmt.Sprintf(
		"set provider.baseUrl to %s in your settings (or OPENAI_BASE_URL) to use it%s",
		s.endpoint.BaseURL, otherwise)}
}

// Trusts implements policy.TrustStore.
func (s foundServer) Trusts(url string) (trusted, asked bool) {
	if len(s.owners) > 0 {
		if trusted, asked = (serverClaims{s.claims()}).Trusts(url); asked {
			return trusted, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	trusted, asked = s.kept[s.key()]
	return trusted, asked
}

// Set implements policy.TrustStore. An answer that cannot be stored is valid until the program
// ends.
func (s foundServer) Set(url string, trusted bool) error {
	var err error
	if len(s.owners) > 0 {
		c := s.claims()
		// A refusal does not change claims that are already trusted.
		c.list = slices.DeleteFunc(c.list, s.file.Answer(url).Covers)
		if err = (serverClaims{c}).Set(url, trusted); err == nil {
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[s.key()] = trusted
	return err
}

// claims returns one claim for each program that listens on the server's port. The claim's layer is
// the program.
func (s foundServer) claims() claims {
	c := claims{file: s.file}
	for _, owner := range s.owners {
		c.list = append(c.list, config.Claim{Layer: owner, Digest: "executable"})
	}
	return c
}

func (s foundServer) key() string {
	return s.endpoint.BaseURL + "\x00" + strings.Join(s.owners, "\x00")
}
