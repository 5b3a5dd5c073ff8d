package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/streamshift/streamshift/controllers/session"
	"github.com/streamshift/streamshift/internal/tlsfolder"
	"github.com/streamshift/streamshift/internal/wallclock"
)

// openCertificates returns the folder of --tls-cert-dir; nil: without TLS.
func openCertificates(o *options) (*tlsfolder.Folder, error) {
	if o.certificates == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	folder, err := tlsfolder.Open(o.certificates)
	if err != nil {
		return nil, fmt.Errorf("reading --tls-cert-dir: %w", err)
	}
	return folder, nil
}

// secure has the front serve gateways only, where there is a folder, and take in new certificates. The node is not ready where its own
// has run out.
func secure(mgr ctrl.Manager, front *session.Front, folder *tlsfolder.Folder, log logr.Logger) error {
	if folder == nil {
		return nil
	}
	front.TLS = folder.PrivateServer(tlsfolder.GatewayName)
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return folder.Watch(ctx, log) })); err != nil {
		return fmt.Errorf("watching certificates: %w", err)
	}
	if err := mgr.AddReadyzCheck("certificate", func(*http.Request) error { return folder.Check(wallclock.Now()) }); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}
