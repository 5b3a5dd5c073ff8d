package streamnode

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/placement"
)

// labelOwner is the field manager of the labels that come from the Kubernetes node. One that leaves the node leaves the StreamNode,
// and those that a person set stay.
const labelOwner = client.FieldOwner("streamshift-labels")

// DefaultLabels are the labels by which people choose nodes.
func DefaultLabels() []string {
	return []string{
		placement.LabelZone, "topology.kubernetes.io/region", "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
		"node.kubernetes.io/instance-type",
	}
}

// wantedLabels returns the labels that a StreamNode gets from its Kubernetes node.
func wantedLabels(labels map[string]string, keys []string) map[string]any {
	wanted := map[string]any{}
	for _, key := range keys {
		if value, found := labels[key]; found {
			wanted[key] = value
		}
	}
	return wanted
}

// writeLabels gives the StreamNode the labels of its Kubernetes node, where they differ.
func (r *Reconciler) writeLabels(ctx context.Context, v *view) error {
	if v.kubernetesNode == nil {
		return nil
	}
	wanted := wantedLabels(v.kubernetesNode.Labels, r.Labels)
	same := true
	for _, key := range r.Labels {
		value, found := v.node.Labels[key]
		want, wants := wanted[key]
		same = same && (found && wants && value == want || !wants) // one that only a person set stays
	}
	if same {
		return nil
	}
	apply := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode",
		"metadata": map[string]any{"name": v.node.Name, "uid": string(v.node.UID), "labels": wanted},
	}}
	if err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(apply), labelOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the labels of node %s: %w", v.node.Name, err)
	}
	return nil
}
