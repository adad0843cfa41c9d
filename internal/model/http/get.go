package modelhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Get returns the response to a GET of a path below the base URL, and its body. It returns an error
// if the body is longer than limit bytes. It sends no key. The Body of the response is already
// closed.
func (c *Client) Get(
	ctx context.Context, path string, header http.Header, limit int64,
) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Options.BaseURL+path, nil)
	if err != nil {
		return nil, nil, err
	}
	for k := range header {
		r.Header.Set(k, header.Get(k))
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(body)) > limit {
		return nil, nil, fmt.Errorf("the response from %s is longer than %d bytes", c.Host, limit)
	}
	return resp, body, nil
}
