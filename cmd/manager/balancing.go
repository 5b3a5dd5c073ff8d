package main

import (
	"context"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/streamshift/streamshift/controllers/nodename"
	"github.com/streamshift/streamshift/controllers/rebalance"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/wallclock"
)

// balancingOptions are the command line's for streams that go elsewhere though no node has to be emptied.
type balancingOptions struct {
	nodeName nodename.Limits
}

func (o *balancingOptions) bind(flags *pflag.FlagSet) {
	flags.IntVar(&o.nodeName.Total, "placement-limit", 16,
		"transfers by Stream.spec.nodeName under way at the same time, those of drains and takeovers counted")
	flags.IntVar(&o.nodeName.PerTarget, "placement-limit-per-target", 8, "the same, to one node: one that came back is filled gradually")
}

// addBalancing adds the controllers of Stream.spec.nodeName and of StreamRebalance.
func addBalancing(
	ctx context.Context, mgr ctrl.Manager, o *balancingOptions, views *register.Streams, ledger *slots.Ledger, maker *transfers.Maker,
) error {
	if err := transfers.IndexOpen(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	placing := &nodename.Reconciler{
		Client: mgr.GetClient(), Views: views, Slots: ledger, Maker: maker,
		Events: mgr.GetEventRecorder("streamshift"), Limits: o.nodeName, Now: wallclock.Now,
	}
	if err := placing.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	if err := (&rebalance.Validator{Now: wallclock.Now}).SetupWithManager(mgr); err != nil {
		return err
	}
	rebalancing := &rebalance.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Views: views, Slots: ledger, Maker: maker,
		Events: mgr.GetEventRecorder("streamshift"), Now: wallclock.Now,
	}
	return rebalancing.SetupWithManager(mgr)
}
