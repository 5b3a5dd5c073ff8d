package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/streamshift/streamshift/internal/pki"
)

const system = "streamshift-system"

// bench is a keeper whose clock the test sets, and what it keeps.
type bench struct {
	*Keeper
	now time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookName}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a"}, {Name: "b"}},
	}
	told := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: addressConfigMap}, Data: map[string]string{"gateway": "https://x"},
	}
	b.Keeper = &Keeper{
		Client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(webhook, told).Build(), Namespace: system,
		Settings:     pki.Settings{Authority: 8 * time.Minute, Certificate: 2 * time.Minute, Settle: time.Hour},
		GatewayNames: []string{"streams.example.com"}, Now: func() time.Time { return b.now }, Log: logr.Discard(),
	}
	return b
}

func (b *bench) keep(t *testing.T) {
	t.Helper()
	if err := b.Keep(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) get(t *testing.T, object client.Object, namespace, name string) {
	t.Helper()
	if err := b.Client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	b.get(t, secret, system, name)
	return secret
}

// versions are those of everything that is kept.
func (b *bench) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, name := range []string{AuthoritySecret, WebhookSecret, GatewaySecret, NodeSecret} {
		versions[name] = b.secret(t, name).ResourceVersion
	}
	here, told, webhook := &corev1.ConfigMap{}, &corev1.ConfigMap{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	b.get(t, here, system, TrustConfigMap)
	b.get(t, told, metav1.NamespacePublic, addressConfigMap)
	b.get(t, webhook, "", webhookName)
	versions["here"], versions["told"], versions["webhook"] = here.ResourceVersion, told.ResourceVersion, webhook.ResourceVersion
	return versions
}

func TestEverybodyIsToldAndCertified(t *testing.T) {
	b := newBench(t)
	b.keep(t)
	bundle := b.secret(t, NodeSecret).Data[trustedKey]
	for name, want := range map[string][]string{
		WebhookSecret: {
			"streamshift-webhook.streamshift-system.svc", "streamshift-webhook.streamshift-system", "streamshift-webhook.streamshift-system.svc.cluster.local",
			"metrics.streamshift.internal",
		},
		GatewaySecret: {
			"streamshift-gateway.streamshift-system.svc", "streamshift-gateway.streamshift-system", "streamshift-gateway.streamshift-system.svc.cluster.local",
			"gateway.streamshift.internal", "metrics.streamshift.internal", "streams.example.com",
		},
		NodeSecret: {"node.streamshift.internal", "metrics.streamshift.internal"},
	} {
		secret := b.secret(t, name)
		pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pair.Leaf.DNSNames); diff != "" {
			t.Errorf("the names of %s (-want +got):\n%s", name, diff)
		}
		if secret.Type != corev1.SecretTypeTLS || !bytes.Equal(secret.Data[trustedKey], bundle) || len(secret.Data) != 3 {
			t.Errorf("secret %s is of type %s with %d keys", name, secret.Type, len(secret.Data))
		}
	}
	webhook, told := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &corev1.ConfigMap{}
	b.get(t, webhook, "", webhookName)
	for _, hook := range webhook.Webhooks {
		if !bytes.Equal(hook.ClientConfig.CABundle, bundle) {
			t.Errorf("the API server is not told whom to trust for webhook %s", hook.Name)
		}
	}
	b.get(t, told, metav1.NamespacePublic, addressConfigMap)
	if diff := cmp.Diff(map[string]string{"gateway": "https://x", "ca.crt": string(bundle)}, told.Data); diff != "" {
		t.Errorf("what users are told (-want +got):\n%s", diff)
	}
}

func TestWhatIsKeptChangesWhenItIsDue(t *testing.T) {
	leaves := []string{WebhookSecret, GatewaySecret, NodeSecret}
	for name, test := range map[string]struct {
		disturb func(*testing.T, *bench)
		want    []string
	}{
		"at once":           {func(*testing.T, *bench) {}, nil},
		"a minute later":    {func(_ *testing.T, b *bench) { b.now = b.now.Add(time.Minute) }, nil},
		"a third is left":   {func(_ *testing.T, b *bench) { b.now = b.now.Add(80 * time.Second) }, leaves},
		"half way through":  {func(_ *testing.T, b *bench) { b.now = b.now.Add(4 * time.Minute) }, append([]string{AuthoritySecret, "here", "told", "webhook"}, leaves...)},
		"another name":      {func(_ *testing.T, b *bench) { b.GatewayNames = nil }, []string{GatewaySecret}},
		"somebody meddled":  {func(t *testing.T, b *bench) { b.meddle(t, NodeSecret, trustedKey) }, []string{NodeSecret}},
		"somebody broke it": {func(t *testing.T, b *bench) { b.meddle(t, NodeSecret, corev1.TLSCertKey) }, []string{NodeSecret}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.keep(t)
			before := b.versions(t)
			test.disturb(t, b)
			b.keep(t)
			want := map[string]bool{}
			for _, changed := range test.want {
				want[changed] = true
			}
			for object, version := range b.versions(t) {
				if (version != before[object]) != want[object] {
					t.Errorf("%s changed: %t, want %t", object, version != before[object], want[object])
				}
			}
			settled := b.versions(t)
			b.keep(t)
			if diff := cmp.Diff(settled, b.versions(t)); diff != "" {
				t.Errorf("looking again changes it:\n%s", diff)
			}
		})
	}
}

// meddle writes something into a Secret.
func (b *bench) meddle(t *testing.T, name, key string) {
	t.Helper()
	secret := b.secret(t, name)
	secret.Data[key] = []byte("x")
	if err := b.Client.Update(context.Background(), secret); err != nil {
		t.Fatal(err)
	}
}

func TestAuthoritiesThatCannotBeReadAreNotReplaced(t *testing.T) {
	b := newBench(t)
	b.keep(t)
	b.meddle(t, AuthoritySecret, authorityKey)
	before := b.versions(t)
	if err := b.Keep(context.Background()); err == nil {
		t.Error("nobody is told")
	}
	if diff := cmp.Diff(before, b.versions(t)); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

func TestTheWebhookServesWhatIsKept(t *testing.T) {
	b := newBench(t)
	s := &Serving{Reader: b.Client, Namespace: system, Settings: b.Settings, Log: logr.Discard()}
	if err := s.look(context.Background()); err != nil {
		t.Errorf("a certificate that is not there yet: %v", err)
	}
	if s.Check(nil) == nil {
		t.Error("a manager without a certificate is ready")
	}
	b.keep(t)
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	s.Configure(config)
	serials := map[string]bool{}
	for range 2 {
		if err := s.look(context.Background()); err != nil {
			t.Fatal(err)
		}
		certificate, err := config.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		serials[certificate.Leaf.SerialNumber.String()] = true
		b.now = b.now.Add(80 * time.Second)
		b.keep(t)
	}
	if len(serials) != 2 {
		t.Errorf("%d certificates were served, want one and the next one", len(serials))
	}
	if err := s.Check(nil); err != nil {
		t.Error(err)
	}
}

func TestAReplicaServesTheNextCertificateWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.Settings = pki.Settings{Authority: 365 * 24 * time.Hour, Certificate: 30 * 24 * time.Hour, Settle: time.Hour}
		b.keep(t)
		s := &Serving{Reader: b.Client, Namespace: system, Settings: b.Settings, Log: logr.Discard()}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Start(ctx) }()
		synctest.Wait()
		if err := b.Client.Delete(ctx, b.secret(t, AuthoritySecret)); err != nil {
			t.Fatal(err)
		}
		b.keep(t)
		time.Sleep(servingPause) //nolint:forbidigo // by the bubble's clock
		synctest.Wait()
		if !bytes.Equal(s.current.Load().pem, b.secret(t, WebhookSecret).Data[corev1.TLSCertKey]) {
			t.Errorf("the certificate before is served %v after the next was made", servingPause)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
