package slots

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Watch feeds the ledger from a cache of all streams.
func Watch(ctx context.Context, streams cache.Cache, ledger *Ledger) error {
	informer, err := streams.GetInformer(ctx, &v1alpha1.Stream{})
	if err != nil {
		return fmt.Errorf("watching streams: %w", err)
	}
	observe := func(object any) {
		if stream, ok := object.(*v1alpha1.Stream); ok {
			ledger.Observe(stream)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    observe,
		UpdateFunc: func(_, object any) { observe(object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if stream, ok := object.(*v1alpha1.Stream); ok {
				ledger.Forget(stream.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching streams: %w", err)
	}
	return nil
}
