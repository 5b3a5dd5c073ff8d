//go:build linux

package kubelets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificateLife is longer than any cluster lives.
const certificateLife = 24 * time.Hour

// authority signs everybody's certificates.
type authority struct {
	folder      folder
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	next        int64 // serial number
}

// newAuthority makes the authority and writes pki/ca.crt and pki/ca.key.
func newAuthority(f folder) (*authority, error) {
	a := &authority{folder: f, next: 1}
	template := a.template(pkix.Name{CommonName: "kubelets"})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("making the authority's key: %w", err)
	}
	a.certificate = template
	der, err := a.issue("ca", template, a.key)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	return a, nil
}

func (a *authority) template(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	a.next++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.next), Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// issue writes pki/<name>.crt and pki/<name>.key.
func (a *authority) issue(name string, template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	if _, err := a.folder.write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "pki", name+".crt"); err != nil {
		return nil, err
	}
	return der, a.writeKey(name, key)
}

func (a *authority) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key of %s: %w", name, err)
	}
	_, err = a.folder.write(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), "pki", name+".key")
	return err
}

// identity is somebody who has a certificate.
type identity struct {
	name, user, group string
	addresses         []string
	hosts             []string
}

// identities are all who have one. Nodes' kubelets serve with theirs, too.
func identities() []identity {
	all := []identity{
		{name: "apiserver", user: "kube-apiserver", addresses: []string{controlAddress, "127.0.0.1", apiServiceIP}, hosts: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		{name: "apiserver-kubelet-client", user: "apiserver-kubelet-client", group: "system:masters"},
		{name: administrator, user: "administrator", group: "system:masters"},
		{name: "kube-controller-manager", user: "system:kube-controller-manager"},
		{name: "kube-scheduler", user: "system:kube-scheduler"},
		{name: "kube-proxy", user: "system:kube-proxy"},
	}
	for _, n := range nodes() {
		all = append(all, identity{
			name: n.name, user: "system:node:" + n.name, group: "system:nodes", addresses: []string{n.address}, hosts: []string{n.name},
		})
	}
	return all
}

// administrator may do everything.
const administrator = "administrator"

// writeIdentities writes the certificates and kubeconfigs of everybody, and the key that signs the service accounts' tokens.
func (f folder) writeIdentities() error {
	a, err := newAuthority(f)
	if err != nil {
		return err
	}
	for _, who := range identities() {
		subject := pkix.Name{CommonName: who.user}
		if who.group != "" {
			subject.Organization = []string{who.group}
		}
		template := a.template(subject)
		template.DNSNames = who.hosts
		for _, address := range who.addresses {
			template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return fmt.Errorf("making the key of %s: %w", who.name, err)
		}
		if _, err := a.issue(who.name, template, key); err != nil {
			return err
		}
		if _, err := f.write([]byte(f.kubeconfigOf(who.name)), "pki", who.name+".kubeconfig"); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	return a.writeKey("service-accounts", key)
}

func (f folder) kubeconfigOf(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: kubelets, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: %q, user: {client-certificate: %q, client-key: %q}}]
contexts: [{name: kubelets, context: {cluster: kubelets, user: %q}}]
current-context: kubelets
`, apiServer, f.join("pki", "ca.crt"), name, f.join("pki", name+".crt"), f.join("pki", name+".key"), name)
}
