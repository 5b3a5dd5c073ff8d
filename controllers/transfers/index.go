package transfers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// OpenIndex has the transfers that have not ended, all of them under the key Open.
const (
	OpenIndex = "open"
	Open      = "true"
)

// IndexOpen adds OpenIndex to the manager's cache.
func IndexOpen(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.StreamTransfer{}, OpenIndex, func(object client.Object) []string {
		if transfer, ok := object.(*v1alpha1.StreamTransfer); ok && !handoff.Terminal(transfer) {
			return []string{Open}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing transfers: %w", err)
	}
	return nil
}
