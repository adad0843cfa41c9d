package cli

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// forward is a proxy that forwards requests for every host to one server. It records the first line
// of each request.
type forward struct {
	url   string
	to    string // the server's host and port
	wants string // required Proxy-Authorization header, or ""

	mu   sync.Mutex
	seen []string
}

func newForward(t *testing.T, to, wants string) *forward {
	f := &forward{to: to, wants: wants}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *forward) asked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, ", ")
}

func (f *forward) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+strings.TrimPrefix(r.RequestURI, "//"))
	f.mu.Unlock()
	if f.wants != r.Header.Get("Proxy-Authorization") {
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	there, err := net.Dial("tcp", f.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if r.Method == http.MethodConnect {
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	} else {
		r.Header.Set("Connection", "close")
		_ = r.Write(there)
	}
	go func() { _, _ = io.Copy(there, here) }()
	_, _ = io.Copy(here, there)
}

// answers acts as a provider that sends the same reply to every request.
func answers(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,`+
		`"delta":{"content":"Said by the provider."},`+
		`"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// runProgram runs the program in a separate process that does not inherit this process's
// environment.
func runProgram(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{envRunMain + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"OPENAI_API_KEY=k-secret", "OPENAI_MODEL=m", "AGENT_LSP_RETRY_MAX_RETRIES=0"}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// The usual environment variables determine how the program reaches its provider. The cases cover a
// proxy with and without TLS and a password, hosts in NO_PROXY, and a server whose certificate
// authority only SSL_CERT_FILE names. Errors name the component that failed.
func TestProxyAndAuthorityByTheUsualVariables(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system uses its own store of authorities, and cannot connect to 0.0.0.0")
	}
	over := httptest.NewTLSServer(http.HandlerFunc(answers)) // has a certificate for example.com
	t.Cleanup(over.Close)
	plain := httptest.NewServer(http.HandlerFunc(answers))
	t.Cleanup(plain.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: over.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	tlsAt, plainAt := over.Listener.Addr().String(), plain.Listener.Addr().String()
	// this machine under an address that is not a loopback address, because loopback addresses are
	// never proxied
	anyAddress := strings.Replace(plainAt, "127.0.0.1", "0.0.0.0", 1)
	const secret = "Basic dXNlcjpwYXNzd29yZC1vZi1wcm94eQ==" // user:password-of-proxy
	for _, c := range []struct {
		name, to, wants string
		env             []string // %s is replaced by the proxy's host and port
		code            int
		asked           string
		says            []string
	}{
		{"TLS through a proxy", tlsAt, "",
			[]string{"HTTPS_PROXY=http://%s", "SSL_CERT_FILE=" + ca,
				"OPENAI_BASE_URL=https://example.com/v1"}, exitOK, "CONNECT example.com:443", nil},
		{"in small letters, with a password", tlsAt, secret,
			[]string{"https_proxy=http://user:password-of-proxy@%s", "SSL_CERT_FILE=" + ca,
				"OPENAI_BASE_URL=https://example.com/v1"}, exitOK, "CONNECT example.com:443", nil},
		{"plain through a proxy", plainAt, "",
			[]string{"HTTP_PROXY=http://%s", "OPENAI_BASE_URL=http://models.test/v1"}, exitOK,
			"POST http://models.test/v1/chat/completions", nil},
		{"a proxy for TLS alone", plainAt, "",
			[]string{"HTTPS_PROXY=http://%s", "OPENAI_BASE_URL=http://" + anyAddress + "/v1"},
			exitOK, "", nil},
		{"through the proxy without NO_PROXY", plainAt, "",
			[]string{"HTTP_PROXY=http://%s", "OPENAI_BASE_URL=http://" + anyAddress + "/v1"},
			exitOK, "POST http://" + anyAddress + "/v1/chat/completions", nil},
		{"past the proxy", "127.0.0.1:9", "",
			[]string{"HTTP_PROXY=http://%s", "NO_PROXY=models.test,0.0.0.0",
				"OPENAI_BASE_URL=http://" + anyAddress + "/v1"}, exitOK, "", nil},
		{"an authority that nobody knows", tlsAt, "",
			[]string{"HTTPS_PROXY=http://%s", "OPENAI_BASE_URL=https://example.com/v1"}, exitFailed,
			"CONNECT example.com:443", []string{"certificate", "SSL_CERT_FILE"}},
		{"a wrong password", tlsAt, secret,
			[]string{"HTTPS_PROXY=http://user:password-of-another@%s", "SSL_CERT_FILE=" + ca,
				"OPENAI_BASE_URL=https://example.com/v1"}, exitFailed, "CONNECT example.com:443",
			[]string{"Proxy Authentication Required"}},
		{"a proxy that reaches nobody", "127.0.0.1:9", "",
			[]string{"HTTPS_PROXY=http://%s", "SSL_CERT_FILE=" + ca,
				"OPENAI_BASE_URL=https://example.com/v1"}, exitFailed, "CONNECT example.com:443",
			[]string{"Bad Gateway"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			proxy := newForward(t, c.to, c.wants)
			env := strings.Split(strings.ReplaceAll(strings.Join(c.env, "\n"), "%s",
				strings.TrimPrefix(proxy.url, "http://")), "\n")
			code, out, errs := runProgram(t, env, "run", "hello")
			if code != c.code || proxy.asked() != c.asked {
				t.Errorf("exit code %d, the proxy was asked %q", code, proxy.asked())
			}
			if c.code == exitOK {
				has(t, "stdout", out, "Said by the provider.")
			}
			has(t, "what it says", out+errs, c.says...)
			for _, s := range []string{"k-secret", "password-of"} {
				if strings.Contains(out+errs, s) {
					t.Errorf("%q is shown:\n%s%s", s, out, errs)
				}
			}
		})
	}
}
