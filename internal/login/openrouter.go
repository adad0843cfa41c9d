package login

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// openRouterSite is the site where the user approves the login and OpenRouter issues keys.
const openRouterSite = "https://openrouter.ai"

const (
	// openRouterPort is the port that OpenRouter's documentation uses for programs on the user's
	// machine. If it is in use, another port is chosen.
	openRouterPort = "3000"
	// openRouterPatience limits how long the login waits for the user.
	openRouterPatience = 10 * time.Minute
	// maxOpenRouterAnswer is the maximum size of the response with the key.
	maxOpenRouterAnswer = 64 << 10
)

// OpenRouter gets a key for the user with OpenRouter's PKCE flow. The user approves the key in a
// browser, which then opens a page on a loopback address.
// https://openrouter.ai/docs/guides/overview/auth/oauth
type OpenRouter struct {
	Site   string                 // "" means OpenRouter's own site
	Client *http.Client           // nil means http.DefaultClient
	Open   func(url string) error // opens a browser; if nil, the user opens the printed address
	Out    io.Writer              // shows the address
	// Input supplies the address of the last page in the browser, in case the browser runs on
	// another machine. If Input is nil, it is not read.
	Input io.Reader
}

// flow is the state of one login.
type flow struct {
	state, verifier string
	codes           chan string // the first valid code
}

// Key returns a new key. The caller must not log it.
func (o OpenRouter) Key(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, openRouterPatience)
	defer cancel()
	listener, err := net.Listen("tcp", "localhost:"+openRouterPort)
	if err != nil {
		listener, err = net.Listen("tcp", "localhost:0")
	}
	if err != nil {
		return "", fmt.Errorf("waiting for the browser: %w", err)
	}
	f := &flow{state: rand.Text(), verifier: rand.Text() + rand.Text(), codes: make(chan string, 1)}
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(last) // the browser may still be loading the page with the outcome
		_ = server.Close()
		<-served
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	o.show(f.address(o.site(), port))
	if o.Input != nil {
		go f.paste(o.Input, o.Out)
	}
	select {
	case code := <-f.codes:
		return o.exchange(ctx, code, f.verifier)
	case <-ctx.Done():
		return "", fmt.Errorf("access to OpenRouter was not allowed in time: %w. Run the login again, or "+
			"create a key at %s/keys and pass it with --stdin", ctx.Err(), o.site())
	}
}

func (o OpenRouter) site() string {
	if o.Site != "" {
		return o.Site
	}
	return openRouterSite
}

// address returns the address of the page on which the user approves the key. The state is part of
// the callback URL, because OpenRouter has no parameter for the state.
func (f *flow) address(site, port string) string {
	sum := sha256.Sum256([]byte(f.verifier))
	back := "http://localhost:" + port + "/callback?state=" + f.state
	return site + "/auth?" + url.Values{
		"callback_url":          {back},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}.Encode()
}

func (o OpenRouter) show(address string) {
	opened := o.Open != nil && o.Open(address) == nil
	if opened {
		fmt.Fprintf(o.Out, "Allow the key in your browser. If it did not open, visit\n\n  %s\n\n",
			address)
	} else {
		fmt.Fprintf(o.Out, "Visit this address in a browser and allow the key:\n\n  %s\n\n",
			address)
	}
	if o.Input != nil {
		fmt.Fprint(o.Out, "If the browser runs on another machine, it cannot load the last page.\n"+
			"Paste the address of that page here and press Enter.\n")
	}
}

// code checks the state in the query of the callback and returns the code in the query.
func (f *flow) code(query url.Values) (string, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.state)) != 1 {
		return "", errors.New("this address belongs to another login; its state is different")
	}
	if query.Get("code") == "" {
		return "", errors.New("the address contains no code, so OpenRouter did not grant a key")
	}
	return query.Get("code"), nil
}

// give delivers the code, unless one was already delivered.
func (f *flow) give(code string) {
	select {
	case f.codes <- code:
	default:
	}
}

// ServeHTTP handles the callback, which the browser requests after the user has approved the key.
func (f *flow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/callback" || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	code, err := f.code(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "agent-lsp has permission. You can close this page.\n")
	f.give(code)
}

// paste reads the address of the browser's last page from the user's input, until an address
// contains a valid code or the input ends.
func (f *flow) paste(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		u, err := url.Parse(line)
		if err != nil {
			fmt.Fprintln(out, "This is not an address.")
			continue
		}
		code, err := f.code(u.Query())
		if err != nil {
			fmt.Fprintf(out, "%v.\n", err)
			continue
		}
		f.give(code)
		return
	}
}

// exchange exchanges a code for the key.
func (o OpenRouter) exchange(ctx context.Context, code, verifier string) (string, error) {
	body, err := json.Marshal(map[string]string{
		"code": code, "code_verifier": verifier, "code_challenge_method": "S256",
	})
	if err != nil {
		return "", err
	}
	target := o.site() + "/api/v1/auth/keys"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	client := o.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("requesting the key from OpenRouter: %w", err)
	}
	defer resp.Body.Close()
	var answer struct{ Key string }
	err = json.NewDecoder(io.LimitReader(resp.Body, maxOpenRouterAnswer)).Decode(&answer)
	if resp.StatusCode != http.StatusOK || err != nil || answer.Key == "" {
		return "", fmt.Errorf("OpenRouter did not issue a key (status %s). Run the login again",
			resp.Status)
	}
	return answer.Key, nil
}
