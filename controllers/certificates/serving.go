package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/internal/pki"
)

// Serving is the certificate that a manager serves with. It runs on every replica.
type Serving struct {
	// Reader reads without a cache.
	Reader    client.Reader
	Namespace string
	Settings  pki.Settings
	Log       logr.Logger

	current atomic.Pointer[served]
}

type served struct {
	pem         []byte
	certificate tls.Certificate
}

// servingPause bounds for how long a replica serves a certificate after the next one was made: the API server fails calls meanwhile, where
// the one before has ended while no manager ran, or its authority is gone.
const servingPause = 5 * time.Second

var errNoCertificate = errors.New("the webhook has no certificate yet")

// Configure has a server show the newest certificate.
func (s *Serving) Configure(config *tls.Config) {
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if current := s.current.Load(); current != nil {
			return &current.certificate, nil
		}
		return nil, errNoCertificate
	}
}

// Check is a readiness check: there is a certificate.
func (s *Serving) Check(*http.Request) error {
	if s.current.Load() == nil {
		return errNoCertificate
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Serving) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *Serving) Start(ctx context.Context) error {
	for {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error(err, "Could not read the webhook's certificate, trying again")
		}
		wait := min(pause(s.Settings), servingPause)
		if s.current.Load() == nil {
			wait = shortestPause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// look takes in the Secret; one that is not there yet is no error.
func (s *Serving) look(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := s.Reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: WebhookSecret}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading secret %s: %w", WebhookSecret, err)
	}
	encoded := secret.Data[corev1.TLSCertKey]
	if current := s.current.Load(); current != nil && bytes.Equal(current.pem, encoded) {
		return nil
	}
	certificate, err := tls.X509KeyPair(encoded, secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("reading the certificate of secret %s: %w", WebhookSecret, err)
	}
	s.current.Store(&served{pem: encoded, certificate: certificate})
	s.Log.Info("Serving with a new certificate", "notAfter", certificate.Leaf.NotAfter)
	return nil
}
