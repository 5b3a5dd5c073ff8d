package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/rescue"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/wallclock"
)

// addRescue has streams leave nodes that cannot open them.
func addRescue(mgr ctrl.Manager, o *options, views *register.Streams, ledger *slots.Ledger, maker *transfers.Maker) error {
	rescuer := &rescue.Reconciler{
		Client: mgr.GetClient(), Views: views, Slots: ledger, Transfers: maker,
		OpenWithin: o.openWithin, Now: wallclock.Now,
	}
	return rescuer.SetupWithManager(mgr)
}
