package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Proxy is a command's only way out of its network namespace.
type Proxy struct {
	Socket string  `json:"socket"` // Unix socket of the proxy
	Token  string  `json:"token"`  // names the command to the proxy
	Run    Traffic `json:"-"`
}

// Traffic is what the proxy does for one command.
type Traffic interface {
	// Waited is how long the command waited for the user's answers about hosts.
	Waited() time.Duration
	// Refused lists the hosts that were refused, each with the reason.
	Refused() []string
	// Close ends all connections and questions of the command, and waits for their ends.
	Close()
}

// Proxies reports whether commands in the sandbox can reach the proxy.
// They need a network namespace: Landlock restricts TCP to a port, and not to an address, so a
// command that reached the proxy would reach the same port of every host.
func (s Support) Proxies() bool {
	return s.Kind == Own || s.Kind == Namespace || s.Kind == Bubblewrap && s.Exe != ""
}

// proxyEnv names the proxy to programs. Loopback inside the sandbox needs none.
func proxyEnv() []string {
	address := fmt.Sprintf("http://127.0.0.1:%d", launcher.ProxyPort)
	var out []string
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", address}, {"HTTPS_PROXY", address}, {"ALL_PROXY", address},
		{"NO_PROXY", "localhost,127.0.0.1,::1"},
	} {
		out = append(out, v.name+"="+v.value, strings.ToLower(v.name)+"="+v.value)
	}
	return out
}

// traffic is the proxy's part of a plan, nil without one.
func (p *Plan) traffic() Traffic {
	if p == nil || p.Proxy == nil {
		return nil
	}
	return p.Proxy.Run
}

// Waited is how long the command waited for the user, which its time limit does not count.
func (p *Plan) Waited() time.Duration {
	if t := p.traffic(); t != nil {
		return t.Waited()
	}
	return 0
}

// Refused lists the hosts that the proxy refused, each with the reason.
func (p *Plan) Refused() []string {
	if t := p.traffic(); t != nil {
		return t.Refused()
	}
	return nil
}

// Close releases what the plan keeps for its command. Call it when the command has ended.
func (p *Plan) Close() {
	if t := p.traffic(); t != nil {
		t.Close()
	}
}
