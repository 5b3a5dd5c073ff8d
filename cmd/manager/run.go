package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/certificates"
	"github.com/streamshift/streamshift/controllers/drain"
	"github.com/streamshift/streamshift/controllers/fleet"
	"github.com/streamshift/streamshift/controllers/guard"
	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/statusz"
	"github.com/streamshift/streamshift/controllers/stream"
	"github.com/streamshift/streamshift/controllers/streamnode"
	"github.com/streamshift/streamshift/controllers/streamtransfer"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/liveness"
	"github.com/streamshift/streamshift/internal/tracing"
	"github.com/streamshift/streamshift/internal/wallclock"
)

// run wires the manager and runs it until the context ends.
func run(ctx context.Context, o *options) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.logging)))
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))

	tracer, endTracing, err := monitoring.Tracer(ctx, "streamshift-manager", "", ctrl.Log.WithName("tracing"))
	if err != nil {
		return fmt.Errorf("setting up traces: %w", err)
	}
	defer endTracing()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	config.QPS, config.Burst = o.queriesPerSecond, int(2*o.queriesPerSecond)
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	serving := &certificates.Serving{}
	hooks, err := webhookServer(o, serving.Configure)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(o),
		Metrics:                       o.metrics.Options(serving.Configure),
		HealthProbeBindAddress:        o.healthAddress,
		WebhookServer:                 hooks,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "streamshift-manager",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if err := o.certificates.add(mgr, direct, o.namespace, serving); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o, tracer); err != nil {
		return err
	}
	if err := metrics.Registry.Register(fleet.New(mgr.GetClient(), mgr.GetLogger())); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if err := addStatusPage(mgr); err != nil {
		return err
	}
	if err := addChecks(mgr, serving); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// addStatusPage has every replica show what goes on, beside its metrics.
func addStatusPage(mgr ctrl.Manager) error {
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("asking for the name of this host: %w", err)
	}
	err = mgr.AddMetricsServerExtraHandler(statusz.Path, &statusz.Handler{
		Client: mgr.GetClient(), Elected: mgr.Elected(), Identity: identity, Now: wallclock.Now, Log: mgr.GetLogger().WithName("statusz"),
	})
	if err != nil {
		return fmt.Errorf("adding the status page: %w", err)
	}
	return nil
}

// cacheOptions keep what is not needed out of memory.
func cacheOptions(o *options) cache.Options {
	guards := labels.SelectorFromSet(guard.Labels())
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}:         {Namespaces: map[string]cache.Config{v1alpha1.NodeLeaseNamespace: {}}},
			&corev1.Pod{}:                   {Namespaces: map[string]cache.Config{o.namespace: {LabelSelector: guards}}},
			&policyv1.PodDisruptionBudget{}: {Namespaces: map[string]cache.Config{o.namespace: {LabelSelector: guards}}},
		},
	}
}

func webhookServer(o *options, configure func(*tls.Config)) (webhook.Server, error) {
	host, portText, err := net.SplitHostPort(o.webhookAddress)
	if err != nil {
		return nil, fmt.Errorf("reading --webhook-bind-address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("reading the port of --webhook-bind-address: %w", err)
	}
	return unkept{webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){configure}})}, nil
}

func addControllers(ctx context.Context, mgr ctrl.Manager, o *options, tracer *tracing.Tracer) error {
	views, ledger := register.NewViews[*v1alpha1.Stream](), slots.NewLedger()
	if err := slots.Watch(ctx, mgr.GetCache(), ledger); err != nil {
		return err
	}
	if err := mgr.Add(&slots.Watchdog{Ledger: ledger, Live: mgr.GetAPIReader()}); err != nil {
		return fmt.Errorf("adding the look for registers that were set back: %w", err)
	}
	validator := &streamtransfer.Validator{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Views: views, Slots: ledger}
	if err := validator.SetupWithManager(mgr); err != nil {
		return err
	}
	maker := &transfers.Maker{Client: mgr.GetClient(), Validate: validator.Validate, Now: wallclock.Now}
	streams := &stream.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Views: views, Slots: ledger,
		Events: mgr.GetEventRecorder("streamshift"), Now: wallclock.Now,
	}
	if err := streams.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	transferring := &streamtransfer.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Views: views, Written: register.NewViews[*v1alpha1.StreamTransfer](), Slots: ledger,
		Events: mgr.GetEventRecorder("streamshift"), Metrics: streamtransfer.NewMetrics(metrics.Registry),
		Tracer: tracer, OpenWithin: o.openWithin, Now: wallclock.Now,
	}
	if err := transferring.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	if err := addRescue(mgr, o, views, ledger, maker); err != nil {
		return err
	}
	if err := addBalancing(ctx, mgr, &o.balancing, views, ledger, maker); err != nil {
		return err
	}
	drains := &drain.Reconciler{
		Client: mgr.GetClient(), Views: views, Nodes: register.NewViews[*v1alpha1.StreamNode](), Slots: ledger,
		Transfers: maker,
		Events:    mgr.GetEventRecorder("streamshift"), Taints: o.drainTaints, TakeoverAfter: o.takeoverAfter,
		Limits: o.drainLimits, SlowAfter: o.drainSlowAfter, Metrics: drain.NewMetrics(metrics.Registry), Now: wallclock.Now,
	}
	if err := drains.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	nodes := &streamnode.Reconciler{
		Client: mgr.GetClient(), Slots: ledger, Events: mgr.GetEventRecorder("streamshift"), Now: wallclock.Now,
		LeaseLimits: liveness.Limits{SuspectAfter: o.leaseDuration / 2, ExpiredAfter: o.leaseDuration},
		Taints:      o.drainTaints, Labels: o.nodeLabels,
	}
	if err := nodes.SetupWithManager(mgr); err != nil {
		return err
	}
	mode, err := guardMode(o)
	if err != nil {
		return err
	}
	guards := &guard.Reconciler{
		Client: mgr.GetClient(), Slots: ledger, Events: mgr.GetEventRecorder("streamshift"),
		Mode: mode, Namespace: o.namespace, Image: o.guardImage, Grace: o.drainGrace, Taints: o.drainTaints,
	}
	return guards.SetupWithManager(mgr)
}

func guardMode(o *options) (guard.Mode, error) {
	switch mode := guard.Mode(o.drainMode); mode {
	case guard.Strict, guard.Graceful:
		if o.guardImage == "" {
			return "", fmt.Errorf("--drain-mode=%s needs --guard-image: name the manager's own image, or choose --drain-mode=%s", mode, guard.Off)
		}
		return mode, nil
	case guard.Off:
		return mode, nil
	}
	return "", fmt.Errorf("--drain-mode is %q: choose %s, %s or %s", o.drainMode, guard.Strict, guard.Graceful, guard.Off)
}

func addChecks(mgr ctrl.Manager, serving *certificates.Serving) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook-certificate", serving.Check); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}
