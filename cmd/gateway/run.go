package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/controllers/route"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
)

// shutdownMargin is what the manager waits longer than the server may take.
const shutdownMargin = 5 * time.Second

// run wires the gateway together and serves until ctx ends.
func run(ctx context.Context, o *options) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.logging)))
	log := ctrl.Log.WithName("gateway")
	ways, err := o.secure.transport()
	if err != nil {
		return fmt.Errorf("reading certificates: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("building the scheme: %w", err)
	}
	tracer, endTracing, err := monitoring.Tracer(ctx, "streamshift-gateway", "", ctrl.Log.WithName("tracing"))
	if err != nil {
		return fmt.Errorf("setting up traces: %w", err)
	}
	defer endTracing()
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	end := o.shutdownDelay + o.shutdownTimeout + shutdownMargin
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   route.CacheOptions(),
		Metrics:                 o.metrics.Options(ways.metrics),
		HealthProbeBindAddress:  o.healthAddress,
		GracefulShutdownTimeout: &end,
	})
	if err != nil {
		return fmt.Errorf("building the manager: %w", err)
	}
	table := routing.NewTable()
	if err := route.SetupWithManager(mgr, table); err != nil {
		return fmt.Errorf("feeding the routing table: %w", err)
	}
	gate, err := o.secure.gate(mgr)
	if err != nil {
		return fmt.Errorf("setting up access: %w", err)
	}
	front := gateway.New(gateway.Config{
		Table:            table,
		Transport:        gateway.NewTransport(ways.dial),
		Access:           gate,
		DefaultNamespace: o.defaultNamespace,
		Limits:           o.limits,
		Now:              time.Now,
		Log:              log,
		Tracer:           tracer,
	})
	metrics.Registry.MustRegister(front.Metrics().Collectors()...)
	server := gateway.NewServer(gateway.ServerConfig{
		Gateway: front, Address: o.listenAddress, TLS: ways.server,
		Delay: o.shutdownDelay, Timeout: o.shutdownTimeout, Log: log,
	})
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the server: %w", err)
	}
	if err := ways.add(mgr, log); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("serving", server.Ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}
