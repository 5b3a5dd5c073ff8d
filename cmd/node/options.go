package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/controllers/session"
	"github.com/streamshift/streamshift/internal/commandline"
	"github.com/streamshift/streamshift/internal/routing"
)

// options are the command line's.
type options struct {
	node             string
	slots            int32
	storeURL         string
	listenAddress    string
	advertiseURL     string
	certificates     string
	insecureHTTP     bool
	metrics          monitoring.Flags
	healthAddress    string
	defaultNamespace string
	parkTimeout      time.Duration
	longPollTimeout  time.Duration
	leaseDuration    time.Duration
	renewEvery       time.Duration
	stopTimeout      time.Duration
	shutdown         string
	cacheBytes       int
	retentionEvery   time.Duration
	tellLoadEvery    time.Duration
	queriesPerSecond float32
	logging          zap.Options
}

// looksAtLoad is how often the load is looked at in the time between two reports.
const looksAtLoad = 3

// Values of --shutdown.
const (
	shutdownTransfer = "Transfer"
	shutdownRestart  = "Restart"
)

func newCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "node --node-name NAME --store URL --advertise-url URL",
		Short: "Holds and serves the streams of one node",
		Long: "Registers this node with its slots, serves the streams that it owns from an object store, and hands them over.\n\n" +
			"The object store is named by URL: file:///folder, s3://bucket?region=..., gs://bucket, azblob://container; each with\n" +
			"&prefix=some/folder/ to share it. Credentials come from the environment, as the provider's own tools take them.",
		Version:       commandline.Version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE: func(command *cobra.Command, _ []string) error {
			return cmp.Or(commandline.CheckNumbers(command.Flags()), o.check())
		},
		RunE: func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.node, "node-name", "", "the name of the Kubernetes Node that this agent runs on (required)")
	flags.Int32Var(&o.slots, "slots", 1000, "how many streams the node may hold, where it is registered for the first time")
	flags.StringVar(&o.storeURL, "store", "", "the URL of the object store (required)")
	flags.StringVar(&o.listenAddress, "listen-address", ":4437", "where streams are served")
	flags.StringVar(&o.advertiseURL, "advertise-url", "", "the base URL under which gateways and other nodes reach this one (required)")
	flags.StringVar(&o.certificates, "tls-cert-dir", "", "a folder with tls.crt and tls.key of the node, and ca.crt; read again when they change. "+
		"Only gateways with a certificate of that authority are served")
	flags.BoolVar(&o.insecureHTTP, "insecure-http", false, "serve streams without TLS, to whoever reaches the node: to try things")
	o.metrics.Bind(flags)
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served; 0 for nowhere")
	flags.StringVar(&o.defaultNamespace, "default-namespace", "default", "the namespace of streams whose URL names none")
	flags.DurationVar(&o.parkTimeout, "park-timeout", routing.DefaultParkTimeout, "how long a request waits for its stream to open")
	flags.DurationVar(&o.longPollTimeout, "long-poll-timeout", 20*time.Second, "how long a long-poll waits for new records; at most 25 s")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "for how long a renewal of the node's lease holds")
	flags.DurationVar(&o.renewEvery, "lease-renew-interval", 5*time.Second, "how often the lease is renewed")
	flags.DurationVar(&o.stopTimeout, "stop-timeout", 20*time.Second,
		"how long transferring all streams away, and how long closing what is left, may take at the end")
	flags.StringVar(&o.shutdown, "shutdown", shutdownTransfer,
		"what becomes of the streams when the agent ends: Transfer has them transferred away, Restart closes them to be opened again after a restart")
	flags.IntVar(&o.cacheBytes, "cache-bytes", 256<<20, "memory for records that were read or written lately, all streams together")
	flags.DurationVar(&o.tellLoadEvery, "load-report-interval", 30*time.Second,
		"how often the load of the node's streams is written to its status at most; only where it has changed much")
	flags.DurationVar(&o.retentionEvery, "retention-interval", session.DefaultRetentionEvery, "how often streams are trimmed to what their retention keeps")
	flags.Float32Var(&o.queriesPerSecond, "kube-api-qps", 200, "requests a second to the API server at most")

	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.logging.BindFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
	return command
}

func (o *options) check() error {
	for _, required := range []struct{ flag, value string }{
		{"node-name", o.node}, {"store", o.storeURL}, {"advertise-url", o.advertiseURL},
	} {
		if required.value == "" {
			return fmt.Errorf("--%s is required; --help says what it is", required.flag)
		}
	}
	if err := commandline.CheckBaseURL("advertise-url", o.advertiseURL); err != nil {
		return err
	}
	if (o.certificates != "") == o.insecureHTTP {
		return errors.New("give --tls-cert-dir, or --insecure-http to serve without TLS, and not both")
	}
	if o.certificates != "" && !strings.HasPrefix(o.advertiseURL, "https://") {
		return errors.New("--advertise-url must be https:// with --tls-cert-dir")
	}
	if o.shutdown != shutdownTransfer && o.shutdown != shutdownRestart {
		return fmt.Errorf("--shutdown is %s or %s, not %q", shutdownTransfer, shutdownRestart, o.shutdown)
	}
	if o.tellLoadEvery < time.Second {
		return fmt.Errorf("--load-report-interval %s must be at least 1s", o.tellLoadEvery)
	}
	if o.retentionEvery <= 0 {
		return fmt.Errorf("--retention-interval must be above 0, not %s", o.retentionEvery)
	}
	if o.renewEvery*2 > o.leaseDuration {
		return fmt.Errorf("--lease-renew-interval %s must be at most half of --lease-duration %s", o.renewEvery, o.leaseDuration)
	}
	return nil
}
