package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der}), nil
}

// Encode returns the authorities as PEM, the oldest first: certificate and private key in turn.
func (all Authorities) Encode() ([]byte, error) {
	var encoded bytes.Buffer
	for _, a := range all {
		key, err := encodeKey(a.key)
		if err != nil {
			return nil, err
		}
		encoded.Write(encodeCertificate(a.certificate.Raw))
		encoded.Write(key)
	}
	return encoded.Bytes(), nil
}

// DecodeAuthorities is the inverse of Encode. Nothing decodes to none.
func DecodeAuthorities(encoded []byte) (Authorities, error) {
	var all Authorities
	for len(bytes.TrimSpace(encoded)) > 0 {
		var certificateDER, keyDER []byte
		var err error
		if certificateDER, encoded, err = nextBlock(encoded, blockCertificate); err != nil {
			return nil, err
		}
		if keyDER, encoded, err = nextBlock(encoded, blockKey); err != nil {
			return nil, err
		}
		certificate, err := x509.ParseCertificate(certificateDER)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate of authority %d: %w", len(all), err)
		}
		key, err := x509.ParsePKCS8PrivateKey(keyDER)
		if err != nil {
			return nil, fmt.Errorf("reading the key of authority %d: %w", len(all), err)
		}
		private, ok := key.(*ecdsa.PrivateKey)
		if !ok || !private.PublicKey.Equal(certificate.PublicKey) {
			return nil, fmt.Errorf("the key of authority %d is not that of its certificate", len(all))
		}
		all = append(all, &Authority{certificate: certificate, key: private})
	}
	return all, nil
}

func nextBlock(encoded []byte, kind string) (der, rest []byte, err error) {
	block, rest := pem.Decode(encoded)
	if block == nil {
		return nil, nil, errors.New("an authority is not PEM")
	}
	if block.Type != kind {
		return nil, nil, fmt.Errorf("an authority has a block %.40q where %q belongs", block.Type, kind)
	}
	return block.Bytes, rest, nil
}
