package login

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// fakeRouter simulates OpenRouter. It issues a key in exchange for the code that belongs to the
// challenge it received.
type fakeRouter struct {
	*httptest.Server
	challenge, verifier string
}

func newFakeRouter(t *testing.T) *fakeRouter {
	f := new(fakeRouter)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Code, Verifier, Method string
		}
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		in.Code, in.Verifier = body["code"], body["code_verifier"]
		in.Method = body["code_challenge_method"]
		sum := sha256.Sum256([]byte(in.Verifier))
		right := base64.RawURLEncoding.EncodeToString(sum[:]) == f.challenge
		if r.URL.Path != "/api/v1/auth/keys" || in.Code != "good" || in.Method != "S256" || !right {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		f.verifier = in.Verifier
		_, _ = io.WriteString(w, `{"key":"sk-or-secret"}`)
	}))
	t.Cleanup(f.Close)
	return f
}

// visit opens the address that is shown to the user. It returns the address to which the browser is
// redirected.
func (f *fakeRouter) visit(t *testing.T, address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		t.Error(err)
		return new(url.URL)
	}
	q := u.Query()
	f.challenge = q.Get("code_challenge")
	back, err := url.Parse(q.Get("callback_url"))
	if err != nil || u.Path != "/auth" || q.Get("code_challenge_method") != "S256" ||
		back.Hostname() != "localhost" || len(back.Query().Get("state")) < 20 {
		t.Errorf("the address is %s, %v", address, err)
		return new(url.URL)
	}
	return back
}

func with(u *url.URL, pairs ...string) string {
	v, q := *u, u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	v.RawQuery = q.Encode()
	return v.String()
}

func get(t *testing.T, address string) int {
	resp, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestOpenRouterLogin checks that a redirect with the right state and code results in a key. A
// redirect with a foreign state or without a code is rejected, and the login continues to wait.
func TestOpenRouterLogin(t *testing.T) {
	f := newFakeRouter(t)
	var out bytes.Buffer
	o := OpenRouter{Site: f.URL, Out: &out}
	o.Open = func(address string) error {
		back := f.visit(t, address)
		go func() {
			for _, c := range []struct {
				address string
				want    int
			}{
				{with(back, "state", "foreign", "code", "good"), http.StatusBadRequest},
				{with(back, "state", "", "code", "good"), http.StatusBadRequest},
				{back.String(), http.StatusBadRequest},
				{"http://" + back.Host + "/other", http.StatusNotFound},
				{with(back, "code", "good"), http.StatusOK},
			} {
				if got := get(t, c.address); got != c.want {
					t.Errorf("%s: %d", c.address, got)
				}
			}
		}()
		return nil
	}
	key, err := o.Key(t.Context())
	if key != "sk-or-secret" || err != nil {
		t.Errorf("the key is %q, %v", key, err)
	}
	if strings.Contains(out.String(), key) || strings.Contains(out.String(), f.verifier) {
		t.Errorf("a secret is shown: %s", &out)
	}
}

// TestOpenRouterLoginWithoutBrowser checks that the login shows its address, and that the user can
// paste the address to which a browser on another machine was redirected.
func TestOpenRouterLoginWithoutBrowser(t *testing.T) {
	f := newFakeRouter(t)
	shown, show := io.Pipe()
	typed, typing := io.Pipe()
	o := OpenRouter{Site: f.URL, Out: show, Input: typed}
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		for back := (*url.URL)(nil); ; {
			n, err := shown.Read(buf)
			if text.Write(buf[:n]); err != nil {
				return
			}
			i := strings.Index(text.String(), f.URL)
			address, _, whole := strings.Cut(text.String()[max(i, 0):], "\n")
			if i >= 0 && whole && back == nil {
				back = f.visit(t, address)
				go func() {
					foreign := with(back, "state", "x", "code", "good")
					_, _ = io.WriteString(typing, "\nhello\n"+foreign+"\n")
					_, _ = io.WriteString(typing, with(back, "code", "good")+"\n")
				}()
			}
		}
	}()
	key, err := o.Key(t.Context())
	if key != "sk-or-secret" || err != nil {
		t.Errorf("the key is %q, %v", key, err)
	}
	_ = show.Close()
}

// TestOpenRouterRefuses checks that a response without a key, and a login that the user abandons,
// return errors that say what to do.
func TestOpenRouterRefuses(t *testing.T) {
	f := newFakeRouter(t)
	o := OpenRouter{Site: f.URL, Out: io.Discard}
	o.Open = func(address string) error {
		back := f.visit(t, address)
		go get(t, with(back, "code", "bad"))
		return nil
	}
	if _, err := o.Key(t.Context()); err == nil || !strings.Contains(err.Error(), "login again") {
		t.Errorf("a refused code: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Open = func(string) error { cancel(); return nil }
	if _, err := o.Key(ctx); err == nil || !strings.Contains(err.Error(), "--stdin") {
		t.Errorf("given up: %v", err)
	}
}
