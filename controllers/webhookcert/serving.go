package webhookcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	certKey = corev1.TLSCertKey
	keyKey  = corev1.TLSPrivateKeyKey
)

// Serving is the certificate that the webhook serves with.
type Serving struct {
	Client client.Reader
	// Folder gets a copy of the public certificate: the rotator takes it for the sign that the Secret has arrived.
	Folder string

	current atomic.Pointer[served]
}

type served struct {
	pem         []byte
	certificate *tls.Certificate
}

var errNoCertificate = errors.New("the webhook has no certificate yet")

// Configure makes a TLS configuration serve the newest certificate.
func (s *Serving) Configure(config *tls.Config) {
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if current := s.current.Load(); current != nil {
			return current.certificate, nil
		}
		return nil, errNoCertificate
	}
}

// Check is a readiness check: the webhook has a certificate.
func (s *Serving) Check(*http.Request) error {
	if s.current.Load() == nil {
		return errNoCertificate
	}
	return nil
}

// Reconcile takes in the Secret.
func (s *Serving) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := s.Client.Get(ctx, request.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if current := s.current.Load(); len(secret.Data[certKey]) == 0 || current != nil && bytes.Equal(current.pem, secret.Data[certKey]) {
		return ctrl.Result{}, nil
	}
	certificate, err := tls.X509KeyPair(secret.Data[certKey], secret.Data[keyKey])
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the certificate of secret %s: %w", request, err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder, certKey), secret.Data[certKey], 0o600); err != nil {
		return ctrl.Result{}, fmt.Errorf("copying the certificate: %w", err)
	}
	s.current.Store(&served{pem: secret.Data[certKey], certificate: &certificate})
	ctrl.LoggerFrom(ctx).Info("Serving with a new certificate", "notAfter", certificate.Leaf.NotAfter)
	return ctrl.Result{}, nil
}
