package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/internal/pki"
	"github.com/streamshift/streamshift/internal/tlsfolder"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=create,namespace=streamshift-system
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;update,namespace=streamshift-system,resourceNames=streamshift-authority;streamshift-webhook-tls;streamshift-gateway-tls;streamshift-node-tls
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=streamshift-system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;update,namespace=streamshift-system,resourceNames=streamshift-ca
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;patch,namespace=kube-public,resourceNames=streamshift
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=streamshift,verbs=get;update

// Names of the Secrets in the namespace of the installation.
const (
	// AuthoritySecret has the authorities and their keys. Nobody but the manager reads it.
	AuthoritySecret = "streamshift-authority" //nolint:gosec // a name
	// WebhookSecret, GatewaySecret and NodeSecret have tls.crt, tls.key and ca.crt.
	WebhookSecret = "streamshift-webhook-tls"
	GatewaySecret = "streamshift-gateway-tls"
	NodeSecret    = "streamshift-node-tls"
	// TrustConfigMap has ca.crt for everybody else in the namespace, such as Prometheus.
	TrustConfigMap = "streamshift-ca"
)

// Names of what is in config.
const (
	webhookService = "streamshift-webhook"
	webhookName    = "streamshift"
	gatewayService = "streamshift-gateway"
	// addressConfigMap in kube-public tells users where the gateway is, and by ca.crt whom to trust there.
	addressConfigMap = "streamshift"
)

const (
	authorityKey  = "authorities.pem"
	authorityName = "Streamshift"
	trustedKey    = tlsfolder.TrustedFile
	// shortestPause and longestPause bound how often is looked at what is due.
	shortestPause = time.Second
	longestPause  = time.Minute
	// looks is how often at least is looked in the life of a certificate.
	looks = 60
)

// Keeper makes the certificates, and renews them. It runs on the leader.
type Keeper struct {
	// Client reads and writes without a cache: what is kept changes a few times a year.
	Client    client.Client
	Namespace string
	Settings  pki.Settings
	// GatewayNames are further DNS names of the gateway, such as that of its load balancer.
	GatewayNames []string
	Now          func() time.Time
	Log          logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: one makes them, or two would make different ones.
func (*Keeper) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		if err := k.Keep(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "Could not keep certificates, trying again")
		}
		timer := time.NewTimer(pause(k.Settings))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

func pause(s pki.Settings) time.Duration {
	return min(max(s.Certificate/looks, shortestPause), longestPause)
}

// Keep looks at everything once, and renews what is due. Whom to trust is told first.
func (k *Keeper) Keep(ctx context.Context) error {
	now := k.Now()
	authorities, err := k.authorities(ctx, now)
	if err != nil {
		return err
	}
	bundle := authorities.Bundle()
	errs := []error{k.trustWebhook(ctx, bundle), k.publish(ctx, bundle)}
	signer := authorities.Signer(k.Settings, now)
	for name, request := range k.requests() {
		errs = append(errs, k.keepSecret(ctx, name, func(data map[string][]byte) error {
			data[trustedKey] = bundle
			pair := pki.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
			why := authorities.Due(pair, request, now)
			if why == "" {
				return nil
			}
			k.Log.Info("Making a certificate", "secret", name, "because", why)
			pair, err := signer.Issue(request, k.Settings.Certificate, now)
			data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = pair.Certificate, pair.Key
			return err //nolint:wrapcheck // it says what was made
		}))
	}
	return errors.Join(errs...)
}

// requests says what each Secret's certificate is to say.
func (k *Keeper) requests() map[string]pki.Request {
	service := func(name string) []string {
		return []string{name + "." + k.Namespace + ".svc", name + "." + k.Namespace, name + "." + k.Namespace + ".svc.cluster.local"}
	}
	server, both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	gateway := append(service(gatewayService), tlsfolder.GatewayName, tlsfolder.MetricsName)
	return map[string]pki.Request{
		WebhookSecret: {Names: append(service(webhookService), tlsfolder.MetricsName), Usages: server},
		GatewaySecret: {Names: append(gateway, k.GatewayNames...), Usages: both},
		NodeSecret:    {Names: []string{tlsfolder.NodeName, tlsfolder.MetricsName}, Usages: server},
	}
}

// authorities returns the authorities of now, and keeps them.
func (k *Keeper) authorities(ctx context.Context, now time.Time) (pki.Authorities, error) {
	var authorities pki.Authorities
	err := k.keepSecret(ctx, AuthoritySecret, func(data map[string][]byte) error {
		all, err := pki.DecodeAuthorities(data[authorityKey])
		if err != nil {
			return fmt.Errorf("reading the authorities (delete secret %s to begin with new ones): %w", AuthoritySecret, err)
		}
		renewed, changed, err := all.Renewed(authorityName, k.Settings, now)
		if err != nil {
			return err //nolint:wrapcheck // it says what was made
		}
		if authorities = renewed; !changed {
			return nil
		}
		k.Log.Info("The authorities change", "before", len(all), "now", len(renewed))
		data[authorityKey], err = renewed.Encode()
		return err //nolint:wrapcheck // it says what was encoded
	})
	return authorities, err
}

// keepSecret changes the data of a Secret, which is made where it is missing, and writes it where it differs then.
func (k *Keeper) keepSecret(ctx context.Context, name string, change func(data map[string][]byte) error) error {
	secret := &corev1.Secret{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, secret)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing:
		secret = &corev1.Secret{ObjectMeta: k.object(name), Type: corev1.SecretTypeTLS}
		if name == AuthoritySecret {
			secret.Type = corev1.SecretTypeOpaque
		}
	case err != nil:
		return fmt.Errorf("reading secret %s: %w", name, err)
	}
	before := maps.Clone(secret.Data)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	if err := change(secret.Data); err != nil {
		return err
	}
	write := func() error { return k.Client.Update(ctx, secret) }
	switch {
	case missing:
		write = func() error { return k.Client.Create(ctx, secret) }
	case maps.EqualFunc(before, secret.Data, bytes.Equal):
		return nil
	}
	if err := write(); err != nil {
		return fmt.Errorf("writing secret %s: %w", name, err)
	}
	return nil
}

func (k *Keeper) object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: k.Namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": "streamshift"}}
}

// trustWebhook tells the API server whom to trust where it calls the webhook.
func (k *Keeper) trustWebhook(ctx context.Context, bundle []byte) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := k.Client.Get(ctx, client.ObjectKey{Name: webhookName}, configuration); err != nil {
		return fmt.Errorf("reading the webhook's configuration: %w", err)
	}
	changed := false
	for i := range configuration.Webhooks {
		trusted := &configuration.Webhooks[i].ClientConfig.CABundle
		if !bytes.Equal(*trusted, bundle) {
			*trusted, changed = bundle, true
		}
	}
	if !changed {
		return nil
	}
	if err := k.Client.Update(ctx, configuration); err != nil {
		return fmt.Errorf("writing the webhook's configuration: %w", err)
	}
	return nil
}

// publish tells everybody else whom to trust: who reads metrics, and users, beside the gateway's address.
func (k *Keeper) publish(ctx context.Context, bundle []byte) error {
	return errors.Join(k.publishHere(ctx, string(bundle)), k.publishToUsers(ctx, string(bundle)))
}

func (k *Keeper) publishHere(ctx context.Context, bundle string) error {
	published := &corev1.ConfigMap{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: TrustConfigMap}, published)
	switch {
	case apierrors.IsNotFound(err):
		err = k.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: k.object(TrustConfigMap), Data: map[string]string{trustedKey: bundle}})
	case err == nil && published.Data[trustedKey] != bundle:
		published.Data = map[string]string{trustedKey: bundle}
		err = k.Client.Update(ctx, published)
	}
	if err != nil {
		return fmt.Errorf("writing config map %s: %w", TrustConfigMap, err)
	}
	return nil
}

// publishToUsers does nothing where the address of the gateway is not told to users.
func (k *Keeper) publishToUsers(ctx context.Context, bundle string) error {
	told := &corev1.ConfigMap{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespacePublic, Name: addressConfigMap}, told)
	if apierrors.IsNotFound(err) || err == nil && told.Data[trustedKey] == bundle {
		return nil
	}
	if err == nil {
		before := told.DeepCopy()
		if told.Data == nil {
			told.Data = map[string]string{}
		}
		told.Data[trustedKey] = bundle
		err = k.Client.Patch(ctx, told, client.MergeFrom(before))
	}
	if err != nil {
		return fmt.Errorf("telling users whom to trust: %w", err)
	}
	return nil
}
