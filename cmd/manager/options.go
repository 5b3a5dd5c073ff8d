package main

import (
	"cmp"
	"flag"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/streamshift/streamshift/controllers/guard"
	"github.com/streamshift/streamshift/controllers/monitoring"
	"github.com/streamshift/streamshift/controllers/streamnode"
	"github.com/streamshift/streamshift/internal/commandline"
	"github.com/streamshift/streamshift/internal/placement"
)

// options are the command line's.
type options struct {
	metrics                       monitoring.Flags
	healthAddress, webhookAddress string
	namespace                     string
	leaderElect                   bool
	certificates                  certificateOptions
	leaseDuration                 time.Duration
	queriesPerSecond              float32
	drainTaints, nodeLabels       []string
	drainLimits                   placement.Limits
	takeoverAfter, openWithin     time.Duration
	drainMode, guardImage         string
	drainGrace, drainSlowAfter    time.Duration
	balancing                     balancingOptions
	logging                       zap.Options
}

func newCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "manager",
		Short: "Places streams and accepts transfers of their ownership",
		Long: "Runs Streamshift's controllers and its admission webhook against the API server that --kubeconfig, KUBECONFIG\n" +
			"or the pod's service account names. Several replicas elect a leader; each of them serves the webhook.",
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
	o.metrics.Bind(flags)
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served; 0 for nowhere")
	flags.StringVar(&o.webhookAddress, "webhook-bind-address", ":9443", "where the admission webhook is served")
	o.certificates.bind(flags)
	flags.StringVar(&o.namespace, "leader-election-namespace", "streamshift-system", "the namespace of the manager: of its lock, of certificates and services")
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "elect a leader among the replicas; off only where exactly one runs")
	flags.DurationVar(&o.leaseDuration, "node-lease-duration", 15*time.Second, "how long a node whose lease does not change is taken for ready")
	flags.StringSliceVar(&o.drainTaints, "drain-taints", placement.DefaultDrainTaints(), "keys of Kubernetes node taints that drain a node")
	flags.StringSliceVar(&o.nodeLabels, "node-labels", streamnode.DefaultLabels(),
		"keys of Kubernetes node labels that StreamNodes get, for spec.nodeSelector and for spreading over zones")
	flags.IntVar(&o.drainLimits.Total, "drain-limit", 64, "transfers of drains and takeovers under way at the same time, in all")
	flags.IntVar(&o.drainLimits.PerSource, "drain-limit-per-source", 16, "the same, from one node")
	flags.IntVar(&o.drainLimits.PerTarget, "drain-limit-per-target", 16, "the same, to one node")
	flags.DurationVar(&o.drainSlowAfter, "drain-slow-after", 150*time.Millisecond,
		"for how long a transfer may keep requests waiting before its target gets fewer at the same time; 0 for never slower")
	flags.DurationVar(&o.takeoverAfter, "takeover-after", 30*time.Second, "for how long a node must be gone before its streams are taken over; 0 for never")
	flags.DurationVar(&o.openWithin, "open-within", 30*time.Second,
		"for how long a node may try to open a stream before the stream goes to another one, longer where others have failed before it; 0 for ever")
	flags.StringVar(&o.drainMode, "drain-mode", string(guard.Strict),
		"how kubectl drain is made to wait for streams, by a guard pod on each node that holds some: "+
			"Strict refuses to evict it until they have left, Graceful lets it end when they have left or --drain-grace is over, Off has no guards")
	flags.StringVar(&o.guardImage, "guard-image", "", "the image of the guards: the manager's own (required unless --drain-mode=Off)")
	flags.DurationVar(&o.drainGrace, "drain-grace", 10*time.Minute, "for how long a guard waits in mode Graceful; Cluster Autoscaler grants at most 10 minutes")
	flags.Float32Var(&o.queriesPerSecond, "kube-api-qps", 500, "requests a second to the API server at most")

	o.balancing.bind(flags)

	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.logging.BindFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
	command.AddCommand(newGuardCommand())
	return command
}

// check refuses limits with which no node would ever be drained.
func (o *options) check() error {
	for _, limit := range []struct {
		flag  string
		value int
	}{
		{"drain-limit", o.drainLimits.Total},
		{"drain-limit-per-source", o.drainLimits.PerSource},
		{"drain-limit-per-target", o.drainLimits.PerTarget},
	} {
		if limit.value == 0 {
			return fmt.Errorf("--%s is 0: give 1 or more, since no stream would ever leave a node", limit.flag)
		}
	}
	return nil
}
