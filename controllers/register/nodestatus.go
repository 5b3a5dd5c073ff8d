package register

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// ApplyNodeStatus writes one field manager's part of a node's status: the fields, and its own conditions. It returns the
// node as it is then. The parts of other field managers stay.
func ApplyNodeStatus(
	ctx context.Context, c client.Client, owner client.FieldOwner, node *v1alpha1.StreamNode, fields map[string]any, own []metav1.Condition,
) (*v1alpha1.StreamNode, error) {
	conditions := make([]any, 0, len(own))
	for i := range own {
		encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&own[i])
		if err != nil {
			return nil, fmt.Errorf("encoding condition %s: %w", own[i].Type, err)
		}
		conditions = append(conditions, encoded)
	}
	fields["conditions"] = conditions
	apply := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode",
		"metadata": map[string]any{"name": node.Name, "uid": string(node.UID)}, "status": fields,
	}}
	if err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(apply), owner, client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("applying the status of node %s: %w", node.Name, err)
	}
	written := &v1alpha1.StreamNode{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(apply.Object, written); err != nil {
		return nil, fmt.Errorf("reading node %s as it was written: %w", node.Name, err)
	}
	return written, nil
}
