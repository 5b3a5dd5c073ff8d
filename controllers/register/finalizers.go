package register

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// PatchFinalizers sets the finalizers of exactly this version of the stream, and returns it as it is then; nil where it
// is gone.
func PatchFinalizers(ctx context.Context, c client.Client, stream *v1alpha1.Stream, finalizers []string) (*v1alpha1.Stream, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": stream.UID, "resourceVersion": stream.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding finalizers: %w", err)
	}
	updated := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name}}
	err = c.Patch(ctx, updated, client.RawPatch(types.MergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("patching finalizers: %w", err)
	}
	return updated, nil
}
