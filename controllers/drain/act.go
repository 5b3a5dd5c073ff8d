package drain

import (
	"context"
	"errors"

	"k8s.io/client-go/util/workqueue"
)

// writesAtOnce bounds the transfers that are made at the same time.
const writesAtOnce = 16

// act makes and cancels the transfers of one pass.
func (r *Reconciler) act(ctx context.Context, d decision) error {
	errs := make([]error, len(d.moves)+len(d.cancel))
	workqueue.ParallelizeUntil(ctx, writesAtOnce, len(errs), func(i int) {
		if i < len(d.moves) {
			errs[i] = r.Transfers.Make(ctx, &d.moves[i])
			return
		}
		errs[i] = r.Transfers.Cancel(ctx, &d.cancel[i-len(d.moves)])
	})
	return errors.Join(errs...)
}
