package streamclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrInsecure tells that a token was not sent since the server is reached without TLS.
var ErrInsecure = errors.New("a token is sent over TLS only")

// TokenSource returns the token to send with a request, such as that of a Kubernetes service account.
type TokenSource func(ctx context.Context) (string, error)

// tokenFileHolds is for how long what was read of a token's file is used: files are written anew long before a token runs out.
const tokenFileHolds = 10 * time.Second

// FileToken reads the token from a file, which may change at any time, as that of a projected service account token does.
func FileToken(path string) TokenSource {
	var (
		mu    sync.Mutex
		token string
		read  time.Time
	)
	return func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if token != "" && time.Since(read) < tokenFileHolds {
			return token, nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		token, read = strings.TrimSpace(string(content)), time.Now()
		if token == "" {
			return "", fmt.Errorf("the file of the token is empty: %s", path)
		}
		return token, nil
	}
}

// authorize adds the token to a request.
func (c *Client) authorize(r *http.Request) error {
	if c.options.Token == nil {
		return nil
	}
	if r.URL.Scheme != "https" {
		return ErrInsecure
	}
	token, err := c.options.Token(r.Context())
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}
