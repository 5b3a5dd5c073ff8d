package localcluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SystemNamespace is where Streamshift's components, their accounts and the webhook's service live.
const SystemNamespace = "streamshift-system"

// The components' service accounts, to which config/rbac binds their roles.
const (
	ManagerAccount = "streamshift-manager"
	NodeAccount    = "streamshift-node"
	GatewayAccount = "streamshift-gateway"
)

// AccountKubeconfig writes a kubeconfig that acts as the service account, by a token of the TokenRequest API, and returns its
// path. Where node is given, the token is bound to that Kubernetes Node, as a pod's on that node would be, and carries its name.
func (c *Cluster) AccountKubeconfig(ctx context.Context, account, node string) (string, error) {
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: account}}
	if err := c.client.Create(ctx, serviceAccount); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating service account %s: %w", account, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	path := c.folder.join(account + ".kubeconfig")
	if node != "" {
		path = c.folder.join(account + "-" + node + ".kubeconfig")
		var object corev1.Node
		if err := c.client.Get(ctx, client.ObjectKey{Name: node}, &object); err != nil {
			return "", fmt.Errorf("reading the node that a token is bound to: %w", err)
		}
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: object.UID}
	}
	if err := c.client.SubResource("token").Create(ctx, serviceAccount, request); err != nil {
		return "", fmt.Errorf("requesting a token of service account %s: %w", account, err)
	}
	if err := c.writeKubeconfig(path, &clientcmdapi.AuthInfo{Token: request.Status.Token}); err != nil {
		return "", err
	}
	return path, nil
}
