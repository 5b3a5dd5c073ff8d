package kubectlstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/streamshift/streamshift/streamclient"
)

// tokenVariable is the environment variable with a token for the gateway.
const tokenVariable = "STREAMSHIFT_TOKEN"

// gatewayFlags say where the gateway is, and how to be known there.
type gatewayFlags struct {
	address, authority, token string
}

func (f *gatewayFlags) bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.address, "gateway", "", "URL of the gateway, such as https://streams.example.com.")
	flags.StringVar(&f.authority, "gateway-ca", "", "File with the certificates of whom to trust as the gateway.")
	flags.StringVar(&f.token, "gateway-token", "", "Token for the gateway; that of "+tokenVariable+" where empty.")
}

// place is a gateway.
type place struct {
	url string
	// trusted are certificates of whom to trust there, besides whom this machine trusts; may be empty.
	trusted string
	// named tells that the cluster names it, so that it may have the credentials that the cluster gets.
	named bool
}

// client returns a client of a gateway. A token goes to where somebody said that it belongs: the one that was given for gateways to the
// gateway that was given, the kubeconfig's to the one that the cluster names. Neither goes anywhere without TLS.
func (a *access) client(p place, f gatewayFlags) (*streamclient.Client, error) {
	parsed, err := url.Parse(p.url)
	if err != nil {
		return nil, fmt.Errorf("reading the gateway's URL: %w", err)
	}
	token := cmp.Or(f.token, a.Getenv(tokenVariable))
	if parsed.Scheme != "https" {
		if token != "" {
			return nil, fmt.Errorf("the gateway %s is reached without TLS: no token is sent there", p.url)
		}
		return streamclient.New(p.url, streamclient.Options{}), nil
	}
	transport, err := trusting(p.trusted, f.authority)
	if err != nil {
		return nil, err
	}
	options := streamclient.Options{HTTP: &http.Client{Transport: transport}}
	switch {
	case token != "":
		options.Token = func(context.Context) (string, error) { return token, nil }
	case p.named:
		config, err := a.flags.ToRESTConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig: %w", err)
		}
		if options.HTTP.Transport, err = withCredentials(config, transport); err != nil {
			return nil, err
		}
	}
	return streamclient.New(p.url, options), nil
}

// trusting returns a transport that trusts whom this machine trusts, and the certificates given; of a file, only those of the file.
func trusting(certificates, file string) (*http.Transport, error) {
	pool, err := x509.SystemCertPool()
	if err != nil || file != "" {
		pool = x509.NewCertPool()
	}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading --gateway-ca: %w", err)
		}
		certificates = string(content)
	}
	if certificates != "" && !pool.AppendCertsFromPEM([]byte(certificates)) {
		return nil, errors.New("whom to trust as the gateway is not known: there is no certificate in what says so")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// withCredentials has requests carry the token of a kubeconfig, whether it has one or runs a program for it. One without, such as with a
// client certificate, leaves requests as they are.
func withCredentials(config *rest.Config, transport http.RoundTripper) (http.RoundTripper, error) {
	if config.Impersonate.UserName != "" {
		return nil, errors.New("a gateway knows nobody by --as: give the token of whom you mean by --gateway-token")
	}
	if config.BearerToken == "" && config.BearerTokenFile == "" && config.ExecProvider == nil && config.AuthProvider == nil {
		return transport, nil
	}
	bare := rest.AnonymousClientConfig(config)
	bare.BearerToken, bare.BearerTokenFile, bare.ExecProvider, bare.AuthProvider =
		config.BearerToken, config.BearerTokenFile, config.ExecProvider, config.AuthProvider
	wrapped, err := rest.HTTPWrappersForConfig(bare, transport)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	return wrapped, nil
}

// advise says what to do about an answer that is about who asks.
func advise(err error) error {
	if !errors.Is(err, streamclient.ErrUnauthenticated) {
		return err
	}
	return fmt.Errorf("%w\nGive a token: --gateway-token \"$(kubectl create token ACCOUNT)\", or "+tokenVariable+
		". That of the kubeconfig, where it has one, is sent only to the gateway that the cluster names", trimmed{err})
}

// trimmed is an error without its full stop, since something follows.
type trimmed struct{ error }

func (t trimmed) Error() string { return strings.TrimSuffix(t.error.Error(), ".") }

// Unwrap implements what errors.Is needs.
func (t trimmed) Unwrap() error { return t.error }
