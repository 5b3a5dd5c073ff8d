package statusz

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams;streamnodes;streamtransfers;streamrebalances,verbs=get;list;watch

// Path is where the page is.
const Path = "/statusz"

const (
	// readTimeout bounds one look at the cache, which waits for nothing but the cache's first filling.
	readTimeout = 5 * time.Second
	// longestRefresh bounds after how many seconds the page may be asked to load itself again.
	longestRefresh = 600
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string

	page = template.Must(template.New("page").Parse(pageText))
	// policy lets the browser use the page's own style, by its hash, and nothing else: no script, no image, no form, no frame around it.
	policy = "default-src 'none'; style-src 'sha256-" + digest(styleText) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Handler serves the page.
type Handler struct {
	// Client reads the manager's cache.
	Client client.Reader
	// Elected is closed when this replica leads.
	Elected <-chan struct{}
	// Identity names this replica.
	Identity string
	Now      func() time.Time
	Log      logr.Logger
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This page changes nothing.", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	seen, err := h.read(ctx)
	if err != nil {
		h.Log.Error(err, "Cannot show the status page")
		http.Error(w, "The manager's cache cannot be read now; its log says why.", http.StatusServiceUnavailable)
		return
	}
	view := summarize(seen, h.Now())
	view.Identity, view.Leads, view.Style = h.Identity, h.leads(), template.CSS(styleText) //nolint:gosec // from this package
	if seconds, err := strconv.Atoi(r.URL.Query().Get("refresh")); err == nil && seconds > 0 {
		view.Refresh = min(seconds, longestRefresh)
	}
	var body bytes.Buffer // whole or not at all
	if err := page.Execute(&body, view); err != nil {
		h.Log.Error(err, "Cannot write the status page")
		http.Error(w, "The page cannot be made; the manager's log says why.", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if r.Method == http.MethodGet {
		_, _ = body.WriteTo(w) // a client that is gone needs no answer
	}
}

func (h *Handler) leads() bool {
	select {
	case <-h.Elected:
		return true
	default:
		return false
	}
}

// world is what the page is made from. It is the cache's own, and must not be changed.
type world struct {
	streams    v1alpha1.StreamList
	nodes      v1alpha1.StreamNodeList
	transfers  v1alpha1.StreamTransferList
	rebalances v1alpha1.StreamRebalanceList
}

func (h *Handler) read(ctx context.Context) (*world, error) {
	w := &world{}
	for _, list := range []client.ObjectList{&w.streams, &w.nodes, &w.transfers, &w.rebalances} {
		if err := h.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("reading %T: %w", list, err)
		}
	}
	return w, nil
}
