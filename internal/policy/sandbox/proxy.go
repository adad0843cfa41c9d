package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Proxy is the only way out of a command's network namespace.
type Proxy struct {
	Socket string  `json:"socket"` // Unix socket of the proxy
	Token  string  `json:"token"`  // identifies the command to the proxy
	Run    Traffic `json:"-"`
}

// Traffic is one command's use of the proxy.
type Traffic interface {
	// Waited returns how long the command waited for the user's answers about hosts.
	Waited() time.Duration
	// Refused lists the refused hosts, each with the reason.
	Refused() []string
	// Close ends all connections and questions of the command, and waits until they have ended.
	Close()
}

// Proxies reports whether commands in the sandbox can reach the proxy. This requires a network
// namespace. Landlock restricts TCP by port but not by address, so a command that can reach the
// proxy could reach the same port of every host.
func (s Support) Proxies() bool {
	return s.Kind == Own || s.Kind == Namespace || s.Kind == Bubblewrap && s.Exe != ""
}

// proxyEnv returns the environment variables that make programs use the proxy, except for loopback,
// which is private to the sandbox.
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

// traffic returns the traffic of a plan, or nil if the plan has no proxy.
func (p *Plan) traffic() Traffic {
	if p == nil || p.Proxy == nil {
		return nil
	}
	return p.Proxy.Run
}

// Waited returns how long the command waited for the user. The command's time limit excludes this
// time.
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

// Close releases the plan's resources. Call it when the command has ended.
func (p *Plan) Close() {
	if t := p.traffic(); t != nil {
		t.Close()
	}
}
