package rebalance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/naming"
)

// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;create;delete

// maxPlanBytes bounds a plan as it is kept: an object of the API server has at most about 1.5 MB. What does not fit is left to
// the next plan.
const maxPlanBytes = 512 << 10

// plan is what is kept: a ControllerRevision's data.
type plan struct {
	Moves []v1alpha1.RebalanceMove `json:"moves"`
	// Before and After are the largest distance of a node from its fair share, in percent.
	Before int32 `json:"beforePercent"`
	After  int32 `json:"afterPercent"`
	// End says why there are no more moves.
	End      string      `json:"end"`
	Excluded []exclusion `json:"excluded,omitempty"`
}

// exclusion is a node that gets no streams, and why.
type exclusion struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

const hashLength = 16

// hash names the plan: the same moves have the same hash, and no others have.
func (p *plan) hash() string {
	encoded, err := json.Marshal(p.Moves)
	if err != nil {
		panic(fmt.Sprintf("encoding moves: %v", err)) // plain strings and numbers
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:hashLength]
}

// trim keeps as many moves as fit.
func (p *plan) trim() {
	size := 0
	for i := range p.Moves {
		encoded, err := json.Marshal(&p.Moves[i])
		if err != nil {
			panic(fmt.Sprintf("encoding a move: %v", err))
		}
		if size += len(encoded) + 1; size > maxPlanBytes {
			p.Moves, p.End = p.Moves[:i], "the plan is as large as a plan may be, and more moves would help"
			return
		}
	}
}

// revisionName is the name of the ControllerRevision that keeps a plan.
func revisionName(rebalance, hash string) string { return naming.Object("", rebalance, "-"+hash) }

// keep stores the plan, once.
func (r *Reconciler) keep(ctx context.Context, object *v1alpha1.StreamRebalance, p *plan) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the plan: %w", err)
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: revisionName(object.Name, p.hash()),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: "streamshift", v1alpha1.LabelRebalance: naming.Label(object.Name), v1alpha1.LabelPlan: p.hash(),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, v1alpha1.GroupVersion.WithKind("StreamRebalance"))},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: 1,
	}
	if err := r.Client.Create(ctx, revision); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keeping the plan: %w", err)
	}
	return nil
}

// kept reads the plan of a StreamRebalance; nil where it is not there any more. What is kept under another hash than its own is
// no plan.
func (r *Reconciler) kept(ctx context.Context, object *v1alpha1.StreamRebalance) (*plan, error) {
	revision := &appsv1.ControllerRevision{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: revisionName(object.Name, object.Status.PlanHash)}, revision)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	p := &plan{}
	if err := json.Unmarshal(revision.Data.Raw, p); err != nil || p.hash() != object.Status.PlanHash {
		return nil, nil //nolint:nilerr // somebody put something else in its place
	}
	return p, nil
}

// drop deletes a plan that a newer one replaces.
func (r *Reconciler) drop(ctx context.Context, object *v1alpha1.StreamRebalance, hash string) error {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: revisionName(object.Name, hash)}}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, revision)); err != nil {
		return fmt.Errorf("deleting the plan before: %w", err)
	}
	return nil
}

// coolDownOf returns what a transfer gave its stream; 0 where it says nothing.
func coolDownOf(transfer *v1alpha1.StreamTransfer) time.Duration {
	count, err := strconv.ParseInt(transfer.Annotations[v1alpha1.AnnotationCoolDown], 10, 32)
	if err != nil || count < 0 {
		return 0
	}
	return time.Duration(count) * time.Second
}
