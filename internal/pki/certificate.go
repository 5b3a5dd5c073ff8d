package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"
)

// renewShare of a certificate's life is left when it is renewed.
const renewShare = 3

// Request is what a certificate is to say.
type Request struct {
	// Names are the DNS names of whom it stands for, the first of them the common name.
	Names []string
	// Usages say whether it is a server's, a client's, or both.
	Usages []x509.ExtKeyUsage
}

// Pair is a certificate with its private key, both as PEM.
type Pair struct {
	Certificate, Key []byte
}

// Issue signs a certificate with a key of its own. It ends with its signer at the latest.
func (a *Authority) Issue(r Request, life time.Duration, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making the key of %s: %w", r.Names[0], err)
	}
	end := now.Add(life)
	if a.certificate.NotAfter.Before(end) {
		end = a.certificate.NotAfter
	}
	certificate, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: r.Names[0]},
		DNSNames:              r.Names,
		NotBefore:             now.Add(-Backdate),
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           r.Usages,
		BasicConstraintsValid: true,
	}, a.certificate, key, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %s: %w", r.Names[0], err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: encodeCertificate(certificate.Raw), Key: encoded}, nil
}

// Due tells why a certificate must be renewed now; empty: it need not be. It is due where it is not what is asked for, nobody who is
// trusted has signed it, or a third of its life is left.
func (all Authorities) Due(p Pair, r Request, now time.Time) string {
	if len(p.Certificate) == 0 {
		return "there is none"
	}
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return "it cannot be read"
	}
	certificate := pair.Leaf
	switch {
	case !slices.Equal(certificate.DNSNames, r.Names), !slices.Equal(certificate.ExtKeyUsage, r.Usages):
		return "it says something else than it shall"
	case all.issuer(certificate) == nil:
		return "nobody who is trusted has signed it"
	case !now.Before(renewAt(certificate)):
		return "it ends soon"
	}
	return ""
}

func renewAt(certificate *x509.Certificate) time.Time {
	life := certificate.NotAfter.Sub(certificate.NotBefore.Add(Backdate))
	return certificate.NotAfter.Add(-life / renewShare)
}
