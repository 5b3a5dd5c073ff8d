package webhookcert

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update,namespace=streamshift-system
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,verbs=get;list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=streamshift,verbs=update

// Options say what is certified, and for how long.
type Options struct {
	// Namespace of the Secret and of the webhook's Service.
	Namespace string
	// Folder for the copy of the public certificate; must be writable.
	Folder string
	// Validity of a certificate, CAValidity of the authority. Each is renewed when a quarter of the shorter is left.
	Validity, CAValidity time.Duration
}

// SecretName is the name of the Secret with the authority and the certificate.
const SecretName = "streamshift-webhook-certificate"

// Names of the objects in config/webhook.
const (
	serviceName = "streamshift-webhook"
	webhookName = "streamshift"
)

// Setup adds the rotation, which runs on the leader, and the serving, which runs on every replica. Direct reads and
// writes the API server without a cache: it is used before the manager starts.
func Setup(ctx context.Context, mgr ctrl.Manager, direct client.Client, options Options) (*Serving, error) {
	if err := os.MkdirAll(options.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the certificate: %w", err)
	}
	key := types.NamespacedName{Namespace: options.Namespace, Name: SecretName}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := direct.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("making secret %s: %w", key, err)
	}
	lookahead := min(options.Validity, options.CAValidity) / 4
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:     key,
		CertDir:       options.Folder,
		CAName:        "streamshift",
		DNSName:       serviceName + "." + options.Namespace + ".svc",
		ExtraDNSNames: []string{serviceName + "." + options.Namespace},
		IsReady:       make(chan struct{}),
		Webhooks:      []rotator.WebhookInfo{{Name: webhookName, Type: rotator.Validating}},
		FieldOwner:    "streamshift-manager",

		RequireLeaderElection:  true,
		ServerCertDuration:     options.Validity,
		CaCertDuration:         options.CAValidity,
		LookaheadInterval:      lookahead,
		RotationCheckFrequency: lookahead / 4,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up certificate rotation: %w", err)
	}
	serving := &Serving{Client: mgr.GetClient(), Folder: options.Folder}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("webhookcert").
		For(&corev1.Secret{}).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(serving)
	if err != nil {
		return nil, fmt.Errorf("setting up the certificate's controller: %w", err)
	}
	return serving, nil
}
