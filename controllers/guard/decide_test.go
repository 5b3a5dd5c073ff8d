package guard

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
)

func TestDecide(t *testing.T) {
	node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	holding := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.StreamNodeStatus{HoldsSessions: true}}
	gone := holding.DeepCopy()
	gone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonLeaseExpired}}
	machine := &corev1.Node{}
	budget := &policyv1.PodDisruptionBudget{}
	reconciler := &Reconciler{Mode: Strict, Namespace: "system", Image: "image:1"}
	pod := reconciler.pod(node, machine)
	other := (&Reconciler{Mode: Strict, Namespace: "system", Image: "image:2"}).pod(node, machine)
	failed, ending := pod.DeepCopy(), pod.DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	ending.DeletionTimestamp = &metav1.Time{}
	owns, inbound := slots.Usage{Owned: 1}, slots.Usage{Inbound: 1}

	for name, c := range map[string]struct {
		view view
		want action
	}{
		"a node without streams has no guard":                        {view{mode: Strict, node: node, kubernetesNode: machine}, nothing},
		"the first stream brings the budget":                         {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns}, makeBudget},
		"a stream on its way does, too":                              {view{mode: Strict, node: node, kubernetesNode: machine, usage: inbound}, makeBudget},
		"then the pod":                                               {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget}, makePod},
		"then all is as it should be":                                {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: pod}, nothing},
		"a budget that somebody deleted comes back":                  {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, pod: pod}, makeBudget},
		"also while streams leave":                                   {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, pod: pod, leaving: true}, makeBudget},
		"nothing is lifted while streams leave":                      {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: pod, leaving: true}, nothing},
		"nor while one is still to arrive":                           {view{mode: Strict, node: node, kubernetesNode: machine, usage: inbound, budget: budget, pod: pod, leaving: true}, nothing},
		"nor while the node has a session open":                      {view{mode: Strict, node: holding, kubernetesNode: machine, budget: budget, pod: pod, leaving: true}, nothing},
		"a dead agent does not block its node once its streams left": {view{mode: Strict, node: gone, kubernetesNode: machine, budget: budget, pod: pod, leaving: true}, liftBudget},
		"the budget is lifted once the node is empty":                {view{mode: Strict, node: node, kubernetesNode: machine, budget: budget, pod: pod, leaving: true}, liftBudget},
		"then the pod goes":                                          {view{mode: Strict, node: node, kubernetesNode: machine, pod: pod, leaving: true}, deletePod},
		"a pod that is ending is left alone":                         {view{mode: Strict, node: node, kubernetesNode: machine, pod: ending}, nothing},
		"no guard comes back while streams leave":                    {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, leaving: true}, nothing},
		"a pod that ended makes room for another":                    {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: failed}, deletePod},
		"a pod of another image is replaced":                         {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: other}, deletePod},
		"but not while streams leave":                                {view{mode: Strict, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: other, leaving: true}, nothing},
		"without a Kubernetes node there is nothing to drain":        {view{mode: Strict, node: node, usage: owns}, nothing},
		"a graceful guard has no budget":                             {view{mode: Graceful, node: node, kubernetesNode: machine, usage: owns}, makePod},
		"a budget is lifted where the mode becomes graceful":         {view{mode: Graceful, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: pod}, liftBudget},
		"switched off, the budget goes first":                        {view{mode: Off, node: node, kubernetesNode: machine, usage: owns, budget: budget, pod: pod}, liftBudget},
		"then the pod, though the node holds streams":                {view{mode: Off, node: node, kubernetesNode: machine, usage: owns, pod: pod}, deletePod},
		"switched off, nothing is made":                              {view{mode: Off, node: node, kubernetesNode: machine, usage: owns}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			c.view.wanted = pod
			if got, reason := decide(&c.view); got != c.want {
				t.Errorf("got %v because %q, want %v", got, reason, c.want)
			}
		})
	}
}

func TestAGuardToleratesWhatSetsNodesApartAndNotWhatDrainsThem(t *testing.T) {
	reconciler := &Reconciler{Mode: Strict, Taints: []string{"karpenter.sh/disrupted"}}
	machine := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "team", Effect: corev1.TaintEffectNoExecute}, {Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoExecute},
		{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}, {Key: "quiet", Effect: corev1.TaintEffectNoSchedule},
	}}}
	pod := reconciler.pod(&v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, machine)
	if len(pod.Spec.Tolerations) != 1 || pod.Spec.Tolerations[0].Key != "team" {
		t.Errorf("the guard tolerates %v, want team only", pod.Spec.Tolerations)
	}
}
