package tools

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// redirects follows the redirects of one call, because a redirect to another host needs another
// permission.
type redirects struct {
	askHost askHost
	check   func(u *url.URL) error // checks each address that a response redirects to
	// get sends one request without following a redirect. left is its time limit.
	get func(u *url.URL, left time.Duration) (*http.Response, []byte, error)
}

// badRedirect is the error for a response from host that cannot be followed.
type badRedirect struct{ host, why string }

func (b *badRedirect) Error() string { return b.why }

// follow returns the first response that does not redirect. It asks the user about each host other
// than the first one. The time limit is suspended while the user is asked.
func (r redirects) follow(ctx context.Context, call *tool.Call, u *url.URL,
	left time.Duration) (*http.Response, []byte, error) {
	allowed := map[string]bool{hostName(u): true}
	for range fetchRedirects + 1 {
		if host := hostName(u); !allowed[host] {
			if err := askRedirect(ctx, r.askHost, call, u); err != nil {
				return nil, nil, err
			}
			allowed[host] = true
		}
		begun := time.Now()
		resp, body, err := r.get(u, left)
		if err != nil {
			return nil, nil, err
		}
		left -= time.Since(begun)
		next, err := redirectOf(resp)
		if err == nil && next != nil {
			err = r.check(next)
		}
		if err != nil || next == nil {
			return resp, body, err
		}
		u = next
	}
	return nil, nil, &badRedirect{
		u.Host, fmt.Sprintf("it redirects more than %d times", fetchRedirects)}
}

// askHost asks the user whether a running call may connect to a host. A non-nil error is the reason
// why it may not.
type askHost func(ctx context.Context, call *tool.Call, host, title string) error

// askRedirect asks the user about the host that a response redirects to.
func askRedirect(ctx context.Context, ask askHost, call *tool.Call, u *url.URL) error {
	host, title := hostName(u), "Follow a redirect to "+u.String()
	if ask == nil {
		return fmt.Errorf("it redirects to another host (%s), which the user cannot be asked about", host)
	}
	wait, cancel := call.WaitContext(ctx)
	defer cancel()
	if err := ask(wait, call, host, title); err != nil {
		return fmt.Errorf("it redirects to %s: %w", host, err)
	}
	return nil
}

// redirectOf returns the address that a response redirects to, or nil for other responses.
func redirectOf(resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if resp.Header.Get("Location") == "" {
		return nil, nil
	}
	u, err := resp.Location()
	if err != nil {
		return nil, &badRedirect{resp.Request.URL.Host, "it redirects to an invalid address"}
	}
	return normalized(u), nil
}
