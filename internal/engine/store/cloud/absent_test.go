package cloud

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// refusal is what a provider answers to a read.
type refusal struct {
	status int
	code   string
	want   error // nil: an outcome that is not known
}

// TestOnlyAnObjectThatDoesNotExistIsNotFound has the providers' own libraries meet a server that refuses a read. What they make of it
// may be much; a log that is taken for ended because a permission is missing would be lost.
func TestOnlyAnObjectThatDoesNotExistIsNotFound(t *testing.T) {
	providers := map[string]struct {
		open     func(t *testing.T, address string) string
		answer   func(w http.ResponseWriter, r refusal)
		refusals map[string]refusal
	}{
		"S3": {
			open: func(t *testing.T, address string) string {
				t.Setenv("AWS_ACCESS_KEY_ID", "test")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
				return "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://" + address
			},
			answer: func(w http.ResponseWriter, r refusal) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(r.status)
				_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", r.code)
			},
			refusals: map[string]refusal{
				"no such object":       {status: 404, code: "NoSuchKey", want: store.ErrNotFound},
				"no such bucket":       {status: 404, code: "NoSuchBucket"},
				"an unknown 404":       {status: 404, code: "Whatever"},
				"another region":       {status: 301, code: "PermanentRedirect"},
				"not allowed":          {status: 403, code: "AccessDenied"},
				"in an archive":        {status: 403, code: "InvalidObjectState"},
				"a condition conflict": {status: 409, code: "ConditionalRequestConflict"},
			},
		},
		"Google": {
			open: func(t *testing.T, address string) string {
				t.Setenv("STORAGE_EMULATOR_HOST", address)
				return "gs://bucket?anonymous=true"
			},
			answer: func(w http.ResponseWriter, r refusal) { w.WriteHeader(r.status) },
			refusals: map[string]refusal{
				"no such object": {status: 404, want: store.ErrNotFound},
				"not allowed":    {status: 403},
			},
		},
		"Azure": {
			open: func(t *testing.T, address string) string {
				t.Setenv("AZURE_STORAGE_ACCOUNT", "test")
				t.Setenv("AZURE_STORAGE_KEY", "dGVzdA==")
				return "azblob://container?protocol=http&localemu=true&domain=" + address
			},
			answer: func(w http.ResponseWriter, r refusal) {
				w.Header().Set("x-ms-error-code", r.code)
				w.WriteHeader(r.status)
			},
			refusals: map[string]refusal{
				"no such object":    {status: 404, code: "BlobNotFound", want: store.ErrNotFound},
				"no such container": {status: 404, code: "ContainerNotFound"},
				"an unknown 404":    {status: 404, code: ""},
				"not allowed":       {status: 403, code: "AuthorizationFailure"},
			},
		},
	}
	for name, provider := range providers {
		for sentence, r := range provider.refusals {
			t.Run(name+": "+sentence, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { provider.answer(w, r) }))
				t.Cleanup(server.Close)
				s, err := store.Open(t.Context(), provider.open(t, strings.TrimPrefix(server.URL, "http://")))
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Get(t.Context(), "a/b")
				if err == nil || errors.Is(err, store.ErrNotFound) != (r.want != nil) || errors.Is(err, store.ErrExists) {
					t.Errorf("reading fails with %v, want %v", err, r.want)
				}
				if err != nil && strings.Contains(err.Error(), "test-secret") {
					t.Errorf("the error tells a secret: %v", err)
				}
			})
		}
	}
}

func TestANameThatDoesNotResolveIsNoObjectThatDoesNotExist(t *testing.T) {
	if absentOnAzure(errors.New("dial tcp: lookup nobody.blob.core.windows.net: no such host")) {
		t.Error("it is taken for one")
	}
}
