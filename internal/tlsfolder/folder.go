package tlsfolder

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// Names of the files.
const (
	CertificateFile = "tls.crt"
	KeyFile         = "tls.key"
	TrustedFile     = "ca.crt"
)

// lookEvery is how often the folder is looked at. The files are small, and one look at all of them is simpler than to be told of each.
const lookEvery = 2 * time.Second

// Folder is a folder with a certificate.
type Folder struct {
	path    string
	current atomic.Pointer[content]
}

// content is what was read of a folder at one time.
type content struct {
	files       [3][]byte
	certificate tls.Certificate
	trusted     *x509.CertPool
}

// Open reads the folder.
func Open(path string) (*Folder, error) {
	f := &Folder{path: path}
	if _, err := f.look(); err != nil {
		return nil, err
	}
	return f, nil
}

// look reads the folder and takes in what has changed. Where it cannot be read, or is being written, what was read before stays.
func (f *Folder) look() (changed bool, err error) {
	var read content
	for i, name := range []string{CertificateFile, KeyFile, TrustedFile} {
		if read.files[i], err = os.ReadFile(filepath.Join(f.path, name)); err != nil {
			return false, fmt.Errorf("reading a certificate: %w", err)
		}
	}
	before := f.current.Load()
	if before != nil && bytes.Equal(bytes.Join(before.files[:], nil), bytes.Join(read.files[:], nil)) {
		return false, nil
	}
	if read.certificate, err = tls.X509KeyPair(read.files[0], read.files[1]); err != nil {
		return false, fmt.Errorf("reading the certificate of %s: %w", f.path, err)
	}
	read.trusted = x509.NewCertPool()
	if !read.trusted.AppendCertsFromPEM(read.files[2]) {
		return false, fmt.Errorf("%s of %s has no certificate", TrustedFile, f.path)
	}
	f.current.Store(&read)
	return true, nil
}

// Watch takes in what changes in the folder until the context ends.
func (f *Folder) Watch(ctx context.Context, log logr.Logger) error {
	log = log.WithValues("folder", f.path)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	complaint := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := f.look()
		switch {
		case err != nil && err.Error() != complaint:
			complaint = err.Error()
			log.Error(err, "Going on with the certificate that there was")
		case err == nil:
			complaint = ""
		}
		if changed {
			log.Info("Using a new certificate", "notAfter", f.current.Load().certificate.Leaf.NotAfter)
		}
	}
}

// Check is an error where the certificate has run out: nobody takes it any more.
func (f *Folder) Check(now time.Time) error {
	if end := f.current.Load().certificate.Leaf.NotAfter; !now.Before(end) {
		return errors.New("the certificate of " + f.path + " has run out at " + end.Format(time.RFC3339))
	}
	return nil
}
