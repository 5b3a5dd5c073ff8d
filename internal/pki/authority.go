package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Backdate is how long before it was made a certificate begins to be valid: for clocks that are behind.
const Backdate = 5 * time.Minute

// settleShare of an authority's life passes before it signs, unless that is longer than Settings.Settle.
const settleShare = 8

// Settings say how long what is made is valid.
type Settings struct {
	// Authority is the life of an authority, Certificate that of what it signs: at most a quarter of it.
	Authority, Certificate time.Duration
	// Settle is for how long a new authority is trusted before it signs; an eighth of its life at most.
	Settle time.Duration
}

// Check returns what is wrong with the settings, in one sentence.
func (s Settings) Check() error {
	if s.Certificate <= 0 || s.Settle < 0 {
		return errors.New("certificates must be valid for a while")
	}
	if s.Authority < 4*s.Certificate {
		return fmt.Errorf("an authority must be valid for at least four times as long as what it signs (%s), not %s", s.Certificate, s.Authority)
	}
	return nil
}

func (s Settings) settle() time.Duration { return min(s.Settle, s.Authority/settleShare) }

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// made is when the authority was made.
func (a *Authority) made() time.Time { return a.certificate.NotBefore.Add(Backdate) }

// NewAuthority makes an authority that lives from now on.
func NewAuthority(name string, life time.Duration, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of an authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              now.Add(life),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	certificate, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of an authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// sign makes a certificate; its serial number is a random one.
func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what for
	}
	return x509.ParseCertificate(der) //nolint:wrapcheck // the caller says what for
}

// Authorities are all that are trusted, the oldest first.
type Authorities []*Authority

// Renewed returns the authorities that there must be now: without those that have run out, and with a next one where the newest has
// lived for half of its life, or there is none. It tells whether they differ from those that there were.
func (all Authorities) Renewed(name string, s Settings, now time.Time) (renewed Authorities, changed bool, err error) {
	renewed = slices.DeleteFunc(slices.Clone(all), func(a *Authority) bool { return !now.Before(a.certificate.NotAfter) })
	changed = len(renewed) != len(all)
	if len(renewed) > 0 && now.Before(renewed.newest().halfLife()) {
		return renewed, changed, nil
	}
	next, err := NewAuthority(name, s.Authority, now)
	if err != nil {
		return nil, false, err
	}
	return append(renewed, next), true, nil
}

func (all Authorities) newest() *Authority { return all[len(all)-1] }

func (a *Authority) halfLife() time.Time {
	return a.made().Add(a.certificate.NotAfter.Sub(a.made()) / 2)
}

// Signer returns who signs now: the newest authority that everybody has had the time to hear of, or the oldest where that is none.
func (all Authorities) Signer(s Settings, now time.Time) *Authority {
	for _, a := range slices.Backward(all) {
		if !now.Before(a.made().Add(s.settle())) {
			return a
		}
	}
	return all[0]
}

// Bundle returns the certificates of all authorities as PEM: whom to trust.
func (all Authorities) Bundle() []byte {
	var bundle bytes.Buffer
	for _, a := range all {
		bundle.Write(encodeCertificate(a.certificate.Raw))
	}
	return bundle.Bytes()
}

// issuer returns which authority signed a certificate, or nil.
func (all Authorities) issuer(certificate *x509.Certificate) *Authority {
	for _, a := range slices.Backward(all) {
		if certificate.CheckSignatureFrom(a.certificate) == nil {
			return a
		}
	}
	return nil
}
