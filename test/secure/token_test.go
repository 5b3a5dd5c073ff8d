package secure

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/test/localcluster"
)

// ownKey is the key by which the API server signs tokens of service accounts: who has it forges every token.
func ownKey() *ecdsa.PrivateKey {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(cluster.Folder(), "service-accounts.key"))
	Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode(content)
	Expect(block).NotTo(BeNil())
	key, err := x509.ParseECPrivateKey(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return key
}

func otherKey() *ecdsa.PrivateKey {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	return key
}

// forge makes a token of the writers' account, as the API server would; without a signature where there is no key.
func forge(ctx context.Context, key *ecdsa.PrivateKey, expires time.Time) string {
	GinkgoHelper()
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: writerAccount}}
	Expect(cluster.Client().Get(ctx, k8s.ObjectKeyFromObject(object), object)).To(Succeed())
	algorithm := "ES256"
	if key == nil {
		algorithm = "none"
	}
	part := func(content map[string]any) string {
		encoded, err := json.Marshal(content)
		Expect(err).NotTo(HaveOccurred())
		return base64.RawURLEncoding.EncodeToString(encoded)
	}
	issued := expires.Add(-time.Hour).Unix()
	signed := part(map[string]any{"alg": algorithm}) + "." + part(map[string]any{
		"iss": "https://kubernetes.default.svc", "aud": []string{"https://kubernetes.default.svc"},
		"sub": "system:serviceaccount:" + namespace + ":" + writerAccount, "exp": expires.Unix(), "iat": issued, "nbf": issued,
		"kubernetes.io": map[string]any{"namespace": namespace, "serviceaccount": map[string]any{"name": writerAccount, "uid": string(object.UID)}},
	})
	if key == nil {
		return signed + "."
	}
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, hash[:])
	Expect(err).NotTo(HaveOccurred())
	signature := make([]byte, 64)
	fill := func(n *big.Int, into []byte) { n.FillBytes(into) }
	fill(r, signature[:32])
	fill(s, signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// tokens are those that a hostile client has got hold of.
type tokens struct {
	stranger, elsewhere, deleted, expired, foreignAudience, unsigned, forged string
}

func collectTokens(ctx context.Context) tokens {
	GinkgoHelper()
	Expect(cluster.CreateNamespace(ctx, "other")).To(Succeed())
	get := func(options localcluster.TokenOptions) string {
		token, err := cluster.Token(ctx, options)
		Expect(err).NotTo(HaveOccurred())
		return token
	}
	t := tokens{
		stranger:        grantedToken(ctx, "stranger"),
		deleted:         grantedToken(ctx, "leaver", "streamshift-stream-writer", "streamshift-stream-reader"),
		elsewhere:       get(localcluster.TokenOptions{Namespace: "other", Account: "neighbour"}),
		foreignAudience: get(localcluster.TokenOptions{Namespace: namespace, Account: "writer", Audience: "https://elsewhere.example.com"}),
		expired:         forge(ctx, ownKey(), time.Now().Add(-time.Minute)),
		unsigned:        forge(ctx, nil, time.Now().Add(time.Hour)),
		forged:          forge(ctx, otherKey(), time.Now().Add(time.Hour)),
	}
	for _, role := range []string{"streamshift-stream-writer", "streamshift-stream-reader"} {
		Expect(cluster.Grant(ctx, "other", role, "other", "neighbour")).To(Succeed())
	}
	Expect(cluster.Client().Delete(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "leaver"}})).To(Succeed())
	return t
}
