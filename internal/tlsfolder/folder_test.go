package tlsfolder_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/pki"
	"github.com/streamshift/streamshift/internal/tlsfolder"
)

const life = time.Hour

var (
	server = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both   = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
)

func authority(t *testing.T) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority("test", life, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// write puts a certificate into a folder.
func write(t *testing.T, folder string, signer *pki.Authority, trusted pki.Authorities, usages []x509.ExtKeyUsage, names ...string) {
	t.Helper()
	pair, err := signer.Issue(pki.Request{Names: names, Usages: usages}, life, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		tlsfolder.CertificateFile: pair.Certificate, tlsfolder.KeyFile: pair.Key, tlsfolder.TrustedFile: trusted.Bundle(),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, folder string) *tlsfolder.Folder {
	t.Helper()
	f, err := tlsfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// serve accepts connections with a configuration, and greets each whose handshake succeeds.
func serve(t *testing.T, config *tls.Config) (address string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Write([]byte("hello"))
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// greeted connects and waits for the greeting: with TLS 1.3 a client hears only then that it is not taken.
func greeted(conn net.Conn, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	greeting, err := io.ReadAll(conn)
	if err == nil && string(greeting) != "hello" {
		err = errors.New("no greeting")
	}
	return err
}

func TestANodeTakesGatewaysAndNobodyElse(t *testing.T) {
	own, other := authority(t), authority(t)
	trusted := pki.Authorities{own}
	nodeFolder := t.TempDir()
	write(t, nodeFolder, own, trusted, server, tlsfolder.NodeName)
	address := serve(t, open(t, nodeFolder).PrivateServer(tlsfolder.GatewayName))
	for name, test := range map[string]struct {
		signer *pki.Authority
		trusts *pki.Authority
		usages []x509.ExtKeyUsage
		names  []string
		want   bool
	}{
		"a gateway":                                   {own, own, both, []string{"svc", tlsfolder.GatewayName}, true},
		"another component":                           {own, own, both, []string{tlsfolder.NodeName}, false},
		"a gateway of another authority":              {other, own, both, []string{tlsfolder.GatewayName}, false},
		"a server with the gateway's name":            {own, own, server, []string{tlsfolder.GatewayName}, false},
		"a gateway that trusts another authority":     {own, other, both, []string{tlsfolder.GatewayName}, false},
		"a name that only ends like the gateway's":    {own, own, both, []string{"x." + tlsfolder.GatewayName}, false},
		"a name that stands for all, as for gateways": {own, own, both, []string{"*.streamshift.internal"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, test.signer, pki.Authorities{test.trusts}, test.usages, test.names...)
			err := greeted(open(t, folder).Dialer(tlsfolder.NodeName, 5*time.Second)(context.Background(), "tcp", address))
			if (err == nil) != test.want {
				t.Errorf("connected: %t (%v), want %t", err == nil, err, test.want)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trusted.Bundle())
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := &tls.Config{RootCAs: pool, ServerName: tlsfolder.NodeName, MinVersion: tls.VersionTLS12, MaxVersion: version}
			if greeted((&tls.Dialer{Config: config}).DialContext(context.Background(), "tcp", address)) == nil {
				t.Errorf("a client without a certificate was taken, by %s", tls.VersionName(version))
			}
		}
	})
}

func TestAGatewayTakesNodesAndNobodyElse(t *testing.T) {
	own, other := authority(t), authority(t)
	gateway := t.TempDir()
	write(t, gateway, own, pki.Authorities{own}, both, tlsfolder.GatewayName)
	dial := open(t, gateway).Dialer(tlsfolder.NodeName, 5*time.Second)
	for name, test := range map[string]struct {
		signer *pki.Authority
		names  []string
		want   bool
	}{
		"a node":                      {own, []string{tlsfolder.NodeName}, true},
		"a gateway":                   {own, []string{tlsfolder.GatewayName}, false},
		"a node of another authority": {other, []string{tlsfolder.NodeName}, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, test.signer, pki.Authorities{own}, server, test.names...)
			err := greeted(dial(context.Background(), "tcp", serve(t, open(t, folder).PublicServer())))
			if (err == nil) != test.want {
				t.Errorf("connected: %t (%v), want %t", err == nil, err, test.want)
			}
		})
	}
}

// The authority changes as Secrets do: first everybody is told, then certificates are signed by the next one.
func TestCertificatesChangeUnderway(t *testing.T) {
	first, second := authority(t), authority(t)
	nodeFolder, gatewayFolder := t.TempDir(), t.TempDir()
	write(t, nodeFolder, first, pki.Authorities{first}, server, tlsfolder.NodeName)
	write(t, gatewayFolder, first, pki.Authorities{first}, both, tlsfolder.GatewayName)
	node, gateway := open(t, nodeFolder), open(t, gatewayFolder)
	address := serve(t, node.PrivateServer(tlsfolder.GatewayName))
	dial := gateway.Dialer(tlsfolder.NodeName, 5*time.Second)
	connect := func() error { return greeted(dial(context.Background(), "tcp", address)) }
	if err := connect(); err != nil {
		t.Fatal(err)
	}
	steps := []func(){
		func() { write(t, nodeFolder, first, pki.Authorities{first, second}, server, tlsfolder.NodeName) },
		func() { write(t, gatewayFolder, second, pki.Authorities{first, second}, both, tlsfolder.GatewayName) },
		func() { write(t, nodeFolder, second, pki.Authorities{second}, server, tlsfolder.NodeName) },
		func() { write(t, gatewayFolder, second, pki.Authorities{second}, both, tlsfolder.GatewayName) },
	}
	for i, step := range steps {
		step()
		watchFor(t, node)
		watchFor(t, gateway)
		if err := connect(); err != nil {
			t.Errorf("after step %d: %v", i+1, err)
		}
	}
	// What cannot be read changes nothing.
	if err := os.WriteFile(filepath.Join(nodeFolder, tlsfolder.KeyFile), []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	watchFor(t, node)
	if err := connect(); err != nil {
		t.Errorf("with a key that is half written: %v", err)
	}
}

// watchFor has a folder watched for long enough that it is looked at.
func watchFor(t *testing.T, f *tlsfolder.Folder) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := f.Watch(ctx, logr.Discard()); err != nil {
			t.Error(err)
		}
	})
}

func TestAFolderThatCannotBeReadIsToldOf(t *testing.T) {
	whole := t.TempDir()
	a := authority(t)
	write(t, whole, a, pki.Authorities{a}, server, "x")
	for name, spoil := range map[string]func(folder string) error{
		"no certificate":         func(f string) error { return os.Remove(filepath.Join(f, tlsfolder.CertificateFile)) },
		"no key":                 func(f string) error { return os.Remove(filepath.Join(f, tlsfolder.KeyFile)) },
		"nobody to trust":        func(f string) error { return os.Remove(filepath.Join(f, tlsfolder.TrustedFile)) },
		"somebody who is nobody": func(f string) error { return os.WriteFile(filepath.Join(f, tlsfolder.TrustedFile), []byte("x"), 0o600) },
		"a key that is none":     func(f string) error { return os.WriteFile(filepath.Join(f, tlsfolder.KeyFile), []byte("x"), 0o600) },
	} {
		folder := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(folder, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := tlsfolder.Open(folder); err == nil {
			t.Errorf("%s: the folder was taken", name)
		}
	}
	f := open(t, whole)
	if err := f.Check(time.Now()); err != nil {
		t.Error(err)
	}
	if err := f.Check(time.Now().Add(2 * life)); err == nil {
		t.Error("a certificate that has run out is not told of")
	}
}
