package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/streamshift/streamshift/controllers/access"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/tlsfolder"
)

// Values of --access.
const (
	accessAuthenticated = "Authenticated"
	accessAnonymous     = "Anonymous"
	accessOpen          = "Open"
)

// secureOptions are the command line's for TLS, and for who may do what.
type secureOptions struct {
	folder, nodeFolder string
	insecureHTTP       bool
	access, audience   string
	grace              time.Duration
}

func (o *secureOptions) bind(f *pflag.FlagSet) {
	f.StringVar(&o.folder, "tls-cert-dir", "", "Folder with tls.crt and tls.key of the gateway, and ca.crt; read again when they change.")
	f.StringVar(&o.nodeFolder, "node-tls-cert-dir", "",
		"Folder with the certificate that the gateway shows to nodes, and in ca.crt whom it trusts there; that of --tls-cert-dir where empty.")
	f.BoolVar(&o.insecureHTTP, "insecure-http", false,
		"Serve clients without TLS: where a proxy does it, or to try things. Without --node-tls-cert-dir nodes are asked without TLS, too.")
	f.StringVar(&o.access, "access", accessAuthenticated,
		"Who may do what: Authenticated asks the API server about each client's token; Anonymous does, and takes clients without a token for "+
			"system:anonymous; Open lets everybody do everything.")
	f.StringVar(&o.audience, "token-audience", "streamshift", "What tokens may be made for, besides the API server itself.")
	f.DurationVar(&o.grace, "access-grace", 15*time.Minute, "For how long what was allowed stays allowed while the API server cannot be asked.")
}

func (o *secureOptions) check() error {
	switch o.access {
	case accessAuthenticated, accessAnonymous, accessOpen:
	default:
		return fmt.Errorf("--access is %q: choose %s, %s or %s", o.access, accessAuthenticated, accessAnonymous, accessOpen)
	}
	if (o.folder != "") == o.insecureHTTP {
		return errors.New("give --tls-cert-dir, or --insecure-http to serve without TLS, and not both")
	}
	return nil
}

// gate returns who decides what clients may do; nil: nobody.
func (o *secureOptions) gate(mgr ctrl.Manager) (gateway.Access, error) {
	options := access.Options{Audience: o.audience, Grace: o.grace, Now: time.Now}
	switch o.access {
	case accessOpen:
		return nil, nil //nolint:nilnil // nobody is asked
	case accessAnonymous:
		options.Strangers = access.StrangersAnonymous
	}
	return access.New(mgr.GetConfig(), mgr.GetHTTPClient(), options) //nolint:wrapcheck // it says what was made
}

// transport is the way in and the way on: what the server of clients shows, and how nodes are reached.
type transport struct {
	// server is nil without TLS.
	server *tls.Config
	// metrics sets the certificate that metrics are served with.
	metrics func(*tls.Config)
	// dial is nil where nodes are reached without TLS.
	dial    gateway.Dial
	folders []*tlsfolder.Folder
}

func (o *secureOptions) transport() (transport, error) {
	var t transport
	open := func(path string) (*tlsfolder.Folder, error) {
		folder, err := tlsfolder.Open(path)
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what was read
		}
		t.folders = append(t.folders, folder)
		return folder, nil
	}
	var toNodes *tlsfolder.Folder
	if o.folder != "" {
		folder, err := open(o.folder)
		if err != nil {
			return transport{}, err
		}
		t.server, t.metrics, toNodes = folder.PublicServer(), folder.Serve, folder
	}
	if o.nodeFolder != "" {
		folder, err := open(o.nodeFolder)
		if err != nil {
			return transport{}, err
		}
		toNodes = folder
	}
	if toNodes != nil {
		t.dial = toNodes.Dialer(tlsfolder.NodeName, gateway.DialTimeout)
	}
	return t, nil
}

// add has the folders watched, and the gateway not ready where a certificate has run out.
func (t *transport) add(mgr ctrl.Manager, log logr.Logger) error {
	for i, folder := range t.folders {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return folder.Watch(ctx, log) })); err != nil {
			return fmt.Errorf("watching certificates: %w", err)
		}
		check := func(*http.Request) error { return folder.Check(time.Now()) }
		if err := mgr.AddReadyzCheck("certificate-"+strconv.Itoa(i), check); err != nil {
			return fmt.Errorf("adding the readiness check: %w", err)
		}
	}
	return nil
}
