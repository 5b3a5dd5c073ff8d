package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/naming"
)

const (
	// appName and labelNode select the guards, and the guard of a node.
	appName   = "streamshift-guard"
	labelApp  = "app.kubernetes.io/name"
	labelNode = "streamshift.io/guarded-node"
	// annotationSpec has a hash of what the pod was made from.
	annotationSpec = "streamshift.io/guard-spec"
	// serviceAccount of the guards may read StreamNodes, and nothing else.
	serviceAccount = "streamshift-guard"
	// strictGrace is for how many seconds a guard that waits for nothing may take to end.
	strictGrace int64 = 5
	// guardUser is nobody in particular, and not root.
	guardUser int64 = 65532
)

// Labels are those of every guard.
func Labels() map[string]string {
	return map[string]string{labelApp: appName, v1alpha1.LabelManagedBy: "streamshift"}
}

func labelsOf(node string) map[string]string {
	labels := Labels()
	labels[labelNode] = naming.Label(node)
	return labels
}

func nameOf(node string) string { return naming.Object(appName+"-", node, "") }

// objectMeta of what belongs to a node's guard. It goes with the node: the owner does not block its deletion.
func (r *Reconciler) objectMeta(node *v1alpha1.StreamNode) metav1.ObjectMeta {
	owner := metav1.NewControllerRef(node, v1alpha1.GroupVersion.WithKind("StreamNode"))
	owner.BlockOwnerDeletion = nil
	return metav1.ObjectMeta{
		Namespace: r.Namespace, Name: nameOf(node.Name), Labels: labelsOf(node.Name), OwnerReferences: []metav1.OwnerReference{*owner},
	}
}

// budget refuses to evict a guard that is ready. One that is not ready protects nothing, and is let go. A custom controller's
// pods may have an integer here and nothing else.
func (r *Reconciler) budget(node *v1alpha1.StreamNode) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: r.objectMeta(node),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               new(intstr.FromInt32(1)),
			Selector:                   &metav1.LabelSelector{MatchLabels: labelsOf(node.Name)},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// pod of a node's guard. It is bound to the node by name: no scheduler may send it elsewhere, or leave it pending on a node
// that is full. It conforms to the restricted Pod Security Standard.
func (r *Reconciler) pod(node *v1alpha1.StreamNode, kubernetesNode *corev1.Node) *corev1.Pod {
	grace := strictGrace
	if r.Mode == Graceful {
		grace = int64(r.Grace.Seconds())
	}
	pod := &corev1.Pod{
		ObjectMeta: r.objectMeta(node),
		Spec: corev1.PodSpec{
			NodeName:                      node.Name,
			ServiceAccountName:            serviceAccount,
			AutomountServiceAccountToken:  new(r.Mode == Graceful),
			TerminationGracePeriodSeconds: &grace,
			Tolerations:                   r.tolerations(kubernetesNode),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(guardUser), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "guard", Image: r.Image,
				Args:      []string{"guard", "--node=" + node.Name, "--drain-mode=" + string(r.Mode)},
				Resources: resources(),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	pod.Annotations = map[string]string{annotationSpec: fingerprint(&pod.Spec)}
	return pod
}

// resources are what a program needs that waits.
func resources() corev1.ResourceRequirements {
	needs := corev1.ResourceRequirements{Requests: make(corev1.ResourceList), Limits: make(corev1.ResourceList)}
	needs.Requests[corev1.ResourceCPU] = resource.MustParse("1m")
	needs.Requests[corev1.ResourceMemory] = resource.MustParse("16Mi")
	needs.Limits[corev1.ResourceMemory] = resource.MustParse("64Mi")
	return needs
}

// tolerations let the guard stay where a team has set nodes apart by a taint that evicts. What drains a node, and what
// Kubernetes says of a node's health, is not tolerated: the agent is what must bear that.
func (r *Reconciler) tolerations(kubernetesNode *corev1.Node) []corev1.Toleration {
	if kubernetesNode == nil {
		return nil
	}
	var tolerations []corev1.Toleration
	for _, taint := range kubernetesNode.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute && !slices.Contains(r.Taints, taint.Key) && !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			tolerations = append(tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect})
		}
	}
	return tolerations
}

// fingerprint tells what a pod was made from; what the API server fills in does not count.
func fingerprint(spec *corev1.PodSpec) string {
	encoded, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("a pod's spec cannot be encoded: %v", err)) // it has no part that could fail
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}
