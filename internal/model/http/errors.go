package modelhttp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// typed converts any error to a *retry.Error.
func (c *Call) typed(err error) error {
	if e := retry.As(err); e != nil {
		e.Message = withoutKey(e.Message, c.key)
		return e
	}
	return c.readError(err)
}

// leastKey is the minimum length, in bytes, of a key that is removed from text. A shorter key would
// match almost everywhere.
const leastKey = 4

// withoutKey removes a key of at least leastKey bytes from text. It finds the key unescaped,
// escaped as JSON once or twice, and escaped for a URL.
func withoutKey(text, key string) string {
	if len(key) < leastKey {
		return text
	}
	for _, form := range []string{key, JSONKey(key), JSONKey(JSONKey(key)), url.QueryEscape(key)} {
		text = strings.ReplaceAll(text, form, "[redacted]")
	}
	return text
}

// readError classifies an error that occurred while reading the answer.
func (c *Call) readError(err error) error {
	if cause := c.watch.cause(); cause != nil {
		return cause
	}
	e := &retry.Error{Kind: retry.Truncated, Err: err}
	switch {
	case retry.As(err) != nil:
		return err
	case errors.Is(err, retry.ErrReplyTooLong):
		return c.tooLong(err)
	case errors.Is(err, ErrNoEvents):
		e.Kind, e.Message = retry.StreamIdle, ErrNoEvents.Error()
	case errors.Is(err, http.ErrUseLastResponse):
		e.Kind, e.Message = retry.Client, "the provider redirects to another address"
	default:
		e.Message = fmt.Sprintf(
			"the response from %s was interrupted: %s",
			c.Client.Host,
			retry.Redact(err.Error()),
		)
	}
	e.Hint = retry.Hint(e.Kind)
	return e
}

// ErrCut is the error for a stream that stopped before its end.
func (c *Call) ErrCut() error {
	return &retry.Error{
		Kind:    retry.Truncated,
		Message: fmt.Sprintf("the response from %s ended early", c.Client.Host),
		Hint:    retry.Hint(retry.Truncated),
	}
}

// ErrRefused is the error for a reply in which the model refuses to answer. Because it is an error,
// the text of the reply is withdrawn and not sent again. why may be empty.
func ErrRefused(model, category, why string) error {
	text := model + " refused to answer"
	if category != "" {
		text += " (" + category + ")"
	}
	if why != "" {
		text += ": " + retry.Redact(why)
	}
	return &retry.Error{
		Kind:    retry.ContentFilter,
		Message: text,
		Hint:    retry.Hint(retry.ContentFilter),
	}
}

// ErrNoTools is the error for a request that cannot be answered without tools.
func (c *Call) ErrNoTools() error {
	return &retry.Error{
		Kind: retry.Client, Message: c.Model + " cannot call tools, but a tool call is required",
		Hint: "choose a model with tool support, or leave toolChoice to auto",
	}
}

// Failure classifies an error that the provider sent as an event or as the answer.
func (c *Call) Failure(v jsontext.Value) error {
	return retry.Classify(
		0,
		nil,
		fmt.Appendf(nil, `{"error":%s}`, withoutKey(string(v), c.key)),
		nil,
	)
}

// Unreadable is the error for an event that is not JSON or has an unknown structure.
func (c *Call) Unreadable(raw []byte) error {
	text := withoutKey(string(raw[:min(len(raw), maxErrorBody)]), c.key)
	text = strings.ToValidUTF8(text[:min(len(text), 200)], "\uFFFD")
	return &retry.Error{
		Kind:    retry.Truncated,
		Message: "the provider sent an event that cannot be read: " + retry.Redact(text),
		Hint:    retry.Hint(retry.Truncated),
	}
}

// pathHint converts a hint about the path of a base URL to a sentence.
func pathHint(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// refused returns the typed error for an answer whose status is not 2xx.
func (c *Call) refused(resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := retry.Classify(
		resp.StatusCode,
		resp.Header,
		[]byte(withoutKey(string(body), c.key)),
		nil,
	) // the key is removed before Classify shortens the body
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode < 400 {
		e.Hint = c.notFoundHint()
	}
	wordless := e.Message == retry.DefaultMessage(e.Status)
	if (resp.StatusCode >= 500 || wordless) && !c.Client.Options.Scripted {
		e.Message = c.fault(e)
	}
	if e.Kind != retry.Auth {
		return e
	}
	e.Hint = c.Client.keyHint()
	if resp.StatusCode == http.StatusUnauthorized {
		e.Message = c.keyProblem() + ": " + e.Message
	}
	return e
}

// fault returns the message for a server error. The server's own text rarely names the server or
// the reason.
func (c *Call) fault(e *retry.Error) string {
	s := fmt.Sprintf("HTTP %d from %s", e.Status, c.Client.Host)
	if e.Message == retry.DefaultMessage(e.Status) {
		return s
	}
	return s + ": " + e.Message
}

// keyProblem explains a 401 to the user, because the provider's text may not explain it. The
// scripted model has no key, but a script can simulate a provider that refuses the key.
func (c *Call) keyProblem() string {
	if c.key == "" && !c.Client.Options.Scripted {
		return c.Client.Options.Provider + " needs an API key"
	}
	return "the API key of " + c.Client.Options.Provider + " is invalid"
}

// keyHint explains where to correct the key.
func (c *Client) keyHint() string {
	if hint := c.Options.KeyHint; hint != nil {
		return cmp.Or(hint(), retry.Hint(retry.Auth))
	}
	return retry.Hint(retry.Auth)
}

// notFoundHint returns a hint for a redirect or a 404, which a wrong base URL or model may cause.
func (c *Call) notFoundHint() string {
	o, base := &c.Client.Options, c.Client.shownURL()
	hint := "check "
	if c.Model != "" {
		hint = fmt.Sprintf("check the model %q and ", c.Model)
	}
	hint += cmp.Or(o.Setting, "provider") + ".baseUrl, which is " + base
	u, err := url.Parse(base)
	switch {
	case err == nil && o.PathHint != "" && strings.Trim(u.Path, "/") == "":
		hint += "; " + o.PathHint
	case c.Model != "" && o.ModelHint != "":
		hint += "; " + o.ModelHint
	}
	return hint
}

func (c *Call) page(resp *http.Response) error {
	return &retry.Error{
		Kind:    retry.Client,
		Status:  resp.StatusCode,
		Message: "the provider returned an HTML page instead of a model's answer",
		Hint: "provider.baseUrl is " + c.Client.shownURL() + pathHint(
			c.Client.Options.PathHint,
		) + ". There may also be a proxy or a login page in between",
	}
}

func (c *Call) emptyAnswer() error {
	return &retry.Error{
		Kind:    retry.Truncated,
		Message: "the provider's answer is empty",
		Hint:    retry.Hint(retry.Truncated),
	}
}

// unreachable returns the typed error for a request without an answer.
func (c *Call) unreachable(err error) error {
	if cause := c.watch.cause(); cause != nil {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the error's own text would contain the query of the URL
	}
	e := retry.Classify(0, nil, nil, err)
	e.Kind, e.Message = retry.Transient, fmt.Sprintf(
		"reaching %s: %s",
		c.Client.Host,
		retry.Redact(err.Error()),
	)
	e.Hint = transportHint(err, c.Client.shownURL())
	if isTLS(err) {
		e.Kind = retry.Client
	}
	return e
}

func transportHint(err error, base string) string {
	var dns *net.DNSError
	switch {
	case isTLS(err):
		return "the certificate is not trusted; set SSL_CERT_FILE to a file with additional certificate authorities"
	case errors.As(err, &dns):
		return "the host in provider.baseUrl, " + base +
			", is not known; check its spelling and the network"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(err.Error(), "refused"):
		return "nothing is listening at " + base + "; start the server or change provider.baseUrl"
	}
	return retry.Hint(retry.Transient)
}

func isTLS(err error) bool {
	var v *tls.CertificateVerificationError
	var u x509.UnknownAuthorityError
	var h x509.HostnameError
	return errors.As(err, &v) || errors.As(err, &u) || errors.As(err, &h)
}

// shownURL returns the base URL without the user and the query.
func (c *Client) shownURL() string {
	u, err := url.Parse(c.Options.BaseURL)
	if err != nil {
		return "not a URL"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
