package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/controllers/registration"
	"github.com/streamshift/streamshift/controllers/session"
	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/storemeter"
	"github.com/streamshift/streamshift/internal/tlsfolder"
	"github.com/streamshift/streamshift/internal/tracing"
	"github.com/streamshift/streamshift/internal/wallclock"
)

// run wires the agent and runs it until the context ends.
func run(ctx context.Context, o *options) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.logging)))
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))

	tracer, endTracing, err := monitoring.Tracer(ctx, "streamshift-node", o.node, ctrl.Log.WithName("tracing"))
	if err != nil {
		return fmt.Errorf("setting up traces: %w", err)
	}
	defer endTracing()
	objects, err := store.Open(ctx, o.storeURL)
	if err != nil {
		return fmt.Errorf("opening the object store of --store: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	config.QPS, config.Burst = o.queriesPerSecond, int(2*o.queriesPerSecond)
	folder, err := openCertificates(o)
	if err != nil {
		return err
	}
	mgr, inbound, err := newManager(config, scheme, o, folder)
	if err != nil {
		return err
	}
	direct, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	log := ctrl.Log.WithName("node").WithValues("node", o.node)
	routeLibraryLogs(log.WithName("library"))
	metered := storemeter.New(objects, metrics.Registry, wallclock.Now)
	storage := &session.StoreEngine{
		Store: metered, Config: engine.Config{Clock: wallclock.Now, Log: log.WithName("engine"), Cache: engine.NewCache(o.cacheBytes)},
		Witnesses: session.Witnesses(direct),
	}
	sessions := &session.Reconciler{
		Node: o.node, Live: direct, Client: direct, Engine: &session.MeteredEngine{Engine: storage, Now: wallclock.Now},
		NewID: uuid.NewString, Now: wallclock.Now, Log: log,
		Tracer: tracer,
	}
	if err := sessions.SetupWithManager(mgr, mgr.GetCache(), inbound); err != nil {
		return err
	}
	agent := &registration.Agent{
		Client: direct, Node: o.node, Instance: uuid.NewString(), Address: o.advertiseURL, Slots: o.slots,
		LeaseDuration: o.leaseDuration, RenewEvery: o.renewEvery,
		CheckStore: storage.Check, CheckStoreEvery: o.leaseDuration, HoldsSessions: sessions.HoldsSessions, Now: wallclock.Now, Log: log,
	}
	front, err := newFront(o, sessions, tracer, log)
	if err != nil {
		return err
	}
	if err := secure(mgr, front, folder, log); err != nil {
		return err
	}
	fences := &session.FenceWatch{Sessions: sessions, LeaseLapsed: agent.LeaseLapsed}
	loads := &registration.LoadReporter{
		Client: direct, Node: o.node, Samples: sessions.Samples, LookEvery: o.tellLoadEvery / looksAtLoad, TellEvery: o.tellLoadEvery, Now: wallclock.Now, Log: log,
	}
	retention := &session.RetentionWatch{Sessions: sessions, Every: o.retentionEvery}
	checks := map[string]healthz.Checker{"front": front.Check, "registered": agent.Check, "store": storage.Ready}
	if err := add(mgr, checks, inbound, agent, front, fences, loads, retention); err != nil {
		return err
	}
	// The signal ends the manager only after the streams have left: until then it must carry them through.
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go func() {
		<-ctx.Done()
		leave(running, o, agent, sessions, log)
		end()
	}()
	return mgr.Start(running)
}

// add has the manager run something, and be ready where all checks pass.
func add(mgr ctrl.Manager, ready map[string]healthz.Checker, runnables ...manager.Runnable) error {
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	for name, check := range ready {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("adding the readiness check: %w", err)
		}
	}
	return nil
}

// leave has the streams transferred away, where the agent is told to at its end.
func leave(ctx context.Context, o *options, agent *registration.Agent, sessions *session.Reconciler, log logr.Logger) {
	if o.shutdown != shutdownTransfer {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.stopTimeout)
	defer cancel()
	if err := agent.Leave(ctx); err != nil {
		log.Error(err, "Cannot ask for the streams to be transferred away: closing them")
		return
	}
	if left := sessions.AwaitLeft(ctx); left > 0 {
		log.Info("Streams are left and will be closed, to be opened again after a restart", "left", left)
	}
}

// newManager returns a manager whose cache has the streams that the node owns, and a second cache of the streams that a
// pending transfer brings: a cache selects by all of its terms, never by one of two.
func newManager(config *rest.Config, scheme *runtime.Scheme, o *options, folder *tlsfolder.Folder) (ctrl.Manager, cache.Cache, error) {
	var certificate func(*tls.Config)
	if folder != nil {
		certificate = folder.Serve
	}
	gracePeriod := 2*o.stopTimeout + 5*time.Second
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&v1alpha1.Stream{}: {Field: session.OwnedBy(o.node)}},
		},
		Metrics:                 o.metrics.Options(certificate),
		HealthProbeBindAddress:  o.healthAddress,
		GracefulShutdownTimeout: &gracePeriod,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the manager: %w", err)
	}
	inbound, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&v1alpha1.Stream{}: {Field: session.InboundTo(o.node)}},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making the cache of inbound streams: %w", err)
	}
	return mgr, inbound, nil
}

// newFront returns the HTTP front of the node.
func newFront(o *options, sessions *session.Reconciler, tracer *tracing.Tracer, log logr.Logger) (*session.Front, error) {
	limits := durablestreams.DefaultLimits()
	limits.LongPoll = o.longPollTimeout
	protocol, err := durablestreams.New(durablestreams.Config{
		Limits: limits, Clock: wallclock.Now, Jitter: rand.Int64N, Log: log, OnExpired: sessions.Expired,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the protocol: %w", err)
	}
	node := routing.NewNode(routing.NodeConfig{
		Node: o.node, DefaultNamespace: o.defaultNamespace, Directory: session.NewDirectory(sessions), Protocol: protocol,
		ParkTimeout: o.parkTimeout,
		// Deadlines of connections are timers: a clock that is set wrong changes nothing about them.
		Bodies: durablestreams.NewBodies(limits.BodyBytes, limits.BodiesBytes, limits.BodyTimeout, time.Now),
		Now:    wallclock.Now, Log: log, Tracer: tracer,
	})
	for _, collector := range node.Metrics().Collectors() {
		if err := metrics.Registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return &session.Front{Address: o.listenAddress, Handler: node, Connections: node.Connections(), Sessions: sessions, StopTimeout: o.stopTimeout, Log: log}, nil
}
