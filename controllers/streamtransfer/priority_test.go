package streamtransfer

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestDrainsComeBeforeWhatPeopleAskForAndRebalancingComesLast(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	self := byPriority(func(_ context.Context, object client.Object) []v1alpha1.StreamTransfer {
		return []v1alpha1.StreamTransfer{*object.(*v1alpha1.StreamTransfer)} //nolint:forcetypeassert // made below
	})
	causes := []string{v1alpha1.CauseRebalance, "", v1alpha1.CauseDrain, v1alpha1.CauseTakeover}
	if priorityOf(causedBy(v1alpha1.CauseCannotOpen)) != priorityOf(causedBy(v1alpha1.CauseTakeover)) {
		t.Error("a stream that its owner cannot open is served by nobody, like one whose owner is gone")
	}
	for _, cause := range causes {
		self.Create(t.Context(), event.CreateEvent{Object: causedBy(cause)}, queue)
	}
	var order []string
	for range causes {
		request, _ := queue.Get()
		order = append(order, request.Name)
		queue.Done(request)
	}
	if diff := cmp.Diff([]string{"cause Takeover", "cause Drain", "cause ", "cause Rebalance"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func causedBy(cause string) *v1alpha1.StreamTransfer {
	return &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Name: "cause " + cause, Labels: map[string]string{v1alpha1.LabelCause: cause}}}
}
