package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/controllers/certificates"
	"github.com/streamshift/streamshift/internal/tlsfolder"
)

// Security says whether nodes and gateways of a cluster speak TLS, and whether clients are asked who they are.
type Security int

const (
	// SecurityNone is the default: to try streams, and to measure them.
	SecurityNone Security = iota
	// SecurityFull is as installed: TLS everywhere, and tokens. Cluster.StreamsClient makes a client.
	SecurityFull
)

const (
	// gatewayHost is the name that the gateway of a secure cluster is reached by.
	gatewayHost = "localhost"
	// mountEvery is how often mounted Secrets are looked at: a kubelet takes about a minute.
	mountEvery = time.Second
	// mountTimeout bounds how long a Secret may take to be made.
	mountTimeout = 60 * time.Second
)

// secureArgs are the arguments of a node or a gateway about TLS, by the Secret that is mounted for it.
func (c *Cluster) secureArgs(ctx context.Context, secret string) ([]string, error) {
	if c.options.Security == SecurityNone {
		return []string{"--insecure-http"}, nil
	}
	folder, err := c.mount(ctx, secret)
	if err != nil {
		return nil, err
	}
	return []string{"--tls-cert-dir=" + folder}, nil
}

// mount keeps the data of a Secret in a folder, as a kubelet does for pods that mount it, and returns it once the Secret is there.
func (c *Cluster) mount(ctx context.Context, secret string) (string, error) {
	folder := c.folder.join("secrets", secret)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil // it is mounted already
	}
	err := poll(ctx, "secret "+secret, mountTimeout, func(ctx context.Context) error { return c.project(ctx, secret, folder) })
	if err != nil {
		return "", err
	}
	go c.keepMounted(context.WithoutCancel(ctx), secret, folder)
	return folder, nil
}

// keepMounted has what changes in a Secret arrive in its folder until the cluster stops. While the API server is away what is there
// stays, as a kubelet has it.
func (c *Cluster) keepMounted(ctx context.Context, secret, folder string) {
	ticker := time.NewTicker(mountEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.stopped:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(ctx, mountTimeout)
		_ = c.project(ctx, secret, folder)
		cancel()
	}
}

// project writes the data of a Secret into a folder of its own, and puts that in the place of the one before.
func (c *Cluster) project(ctx context.Context, name, folder string) error {
	secret := &corev1.Secret{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: name}, secret); err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	if len(secret.Data[corev1.TLSCertKey]) == 0 {
		return errors.New("it has no certificate yet")
	}
	version := folder + "-" + secret.ResourceVersion
	if _, err := os.Stat(version); err == nil {
		return nil
	}
	if err := os.MkdirAll(version, 0o700); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	for key, value := range secret.Data {
		if err := os.WriteFile(filepath.Join(version, key), value, 0o600); err != nil {
			return fmt.Errorf("writing it: %w", err)
		}
	}
	link := version + ".link"
	if err := os.Symlink(version, link); err != nil {
		return fmt.Errorf("linking it: %w", err)
	}
	if err := os.Rename(link, folder); err != nil {
		return fmt.Errorf("putting it in its place: %w", err)
	}
	return nil
}

// TokenOptions say what a token is for.
type TokenOptions struct {
	// Namespace and Account of the service account, which is made where it is missing.
	Namespace, Account string
	// Audience of the token; the API server's where empty.
	Audience string
	// Life of the token, 10 minutes at least; as long as any playground where 0.
	Life time.Duration
}

// Token returns a token of a service account.
func (c *Cluster) Token(ctx context.Context, options TokenOptions) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Account}}
	if err := c.client.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating service account %s: %w", options.Account, err)
	}
	if options.Life == 0 {
		options.Life = tokenLife
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(options.Life.Seconds()))}}
	if options.Audience != "" {
		request.Spec.Audiences = []string{options.Audience}
	}
	if err := c.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("requesting a token of service account %s: %w", options.Account, err)
	}
	return request.Status.Token, nil
}

// Grant lets a service account do what a ClusterRole says in a namespace.
func (c *Cluster) Grant(ctx context.Context, namespace, clusterRole, accountNamespace, account string) error {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: accountNamespace + "-" + account + "-" + clusterRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: accountNamespace, Name: account}},
	}
	if err := c.client.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("granting %s to %s: %w", clusterRole, account, err)
	}
	return nil
}

// GrantEverywhere lets a service account of the system's namespace do what a ClusterRole says in all namespaces and beside them. It
// becomes known a moment later.
func (c *Cluster) GrantEverywhere(ctx context.Context, clusterRole, account string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account + "-" + clusterRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: account}},
	}
	if err := c.client.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("granting %s to %s: %w", clusterRole, account, err)
	}
	return nil
}

// StreamsTransport trusts the gateways of a secure cluster, whoever signs for them at the moment, and sends a token with each request;
// none where it is empty.
func (c *Cluster) StreamsTransport(token string) http.RoundTripper {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		Protocols: &protocols, MaxIdleConnsPerHost: 1000,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			config, err := c.StreamsTLS()
			if err != nil {
				return nil, err
			}
			return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
		},
	}
	return &bearer{token: token, next: transport}
}

// StreamsTLS returns whom clients of a secure cluster trust now.
func (c *Cluster) StreamsTLS() (*tls.Config, error) {
	trusted, err := os.ReadFile(filepath.Join(c.folder.join("secrets", certificates.GatewaySecret), tlsfolder.TrustedFile))
	if err != nil {
		return nil, fmt.Errorf("reading whom to trust: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return nil, errors.New("nobody is trusted")
	}
	return &tls.Config{RootCAs: pool, ServerName: gatewayHost, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}, nil
}

type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r) //nolint:wrapcheck // nothing to add
}
