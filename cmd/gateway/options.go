package main

import (
	"flag"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/internal/gateway"
)

// options are what the command line sets.
type options struct {
	listenAddress, healthAddress string
	metrics                      monitoring.Flags
	defaultNamespace             string
	secure                       secureOptions
	limits                       gateway.Limits
	// shutdownDelay is for how long requests are taken after the gateway said that it is not ready any more,
	// shutdownTimeout how long those in flight may take after that.
	shutdownDelay, shutdownTimeout time.Duration
	logging                        zap.Options
}

func defaultOptions() *options {
	return &options{
		listenAddress:    ":4437",
		healthAddress:    ":8081",
		defaultNamespace: "default",
		limits:           gateway.DefaultLimits(),
		shutdownTimeout:  25 * time.Second,
	}
}

func (o *options) addFlags(f *pflag.FlagSet) {
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.logging.BindFlags(goFlags)
	f.AddGoFlagSet(goFlags)

	f.StringVar(&o.listenAddress, "listen-address", o.listenAddress, "Where clients are served, by HTTP/1.1 and HTTP/2.")
	o.metrics.Bind(f)
	o.secure.bind(f)
	f.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress, "Where /healthz and /readyz are served.")
	f.StringVar(&o.defaultNamespace, "default-namespace", o.defaultNamespace, "Namespace of streams whose URL names none.")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", o.shutdownDelay,
		"For how long requests are taken after readiness is withdrawn: until load balancers know.")
	f.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout, "How long requests in flight may take at the end.")

	l := &o.limits
	f.DurationVar(&l.ParkTimeout, "park-timeout", l.ParkTimeout, "How long a request waits in all until a node can serve its stream.")
	f.DurationVar(&l.AnswerTimeout, "answer-timeout", l.AnswerTimeout, "How long a node may take to answer.")
	f.DurationVar(&l.EventStream, "event-stream-duration", l.EventStream, "How long one connection of an event stream lasts.")
	f.Int64Var(&l.BodyBytes, "max-body-bytes", l.BodyBytes, "Limit of the body of one request.")
	f.Int64Var(&l.BodiesBytes, "max-bodies-bytes", l.BodiesBytes, "Limit of all request bodies in memory.")
	f.Int64Var(&l.RepliesBytes, "max-replies-bytes", l.RepliesBytes, "Limit of all answers in memory.")
	f.IntVar(&l.Connections, "max-connections", l.Connections, "Limit of the clients' connections.")
	f.IntVar(&l.Parking.PerStream, "max-parked-per-stream", l.Parking.PerStream, "Limit of the requests that wait for one stream.")
	f.IntVar(&l.Parking.Total, "max-parked", l.Parking.Total, "Limit of the requests that wait in all.")
	f.Int64Var(&l.Parking.Bytes, "max-parked-bytes", l.Parking.Bytes, "Limit of the bodies of the requests that wait.")
}
