package tlsfolder

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Names by which the components know each other. They are no names of hosts: a node's certificate is good for every node, whatever
// address it has.
const (
	GatewayName = "gateway.streamshift.internal"
	NodeName    = "node.streamshift.internal"
	// MetricsName is one that each component has: for who reads metrics of all of them.
	MetricsName = "metrics.streamshift.internal"
)

// alpn offers HTTP/2, and HTTP/1.1 to those who do not know it.
func alpn() []string { return []string{"h2", "http/1.1"} }

// Serve has a server of anybody show the certificate.
func (f *Folder) Serve(config *tls.Config) {
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &f.current.Load().certificate, nil }
}

// PublicServer is the configuration of a server that asks its clients for no certificate.
func (f *Folder) PublicServer() *tls.Config {
	config := &tls.Config{NextProtos: alpn(), MinVersion: tls.VersionTLS12}
	f.Serve(config)
	return config
}

// PrivateServer is the configuration of a server whose clients all have a certificate with the name, from an authority of the folder.
func (f *Folder) PrivateServer(clientName string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := f.current.Load()
			return &tls.Config{
				MinVersion:   tls.VersionTLS13,
				NextProtos:   alpn(),
				Certificates: []tls.Certificate{current.certificate},
				ClientAuth:   tls.RequireAndVerifyClientCert,
				ClientCAs:    current.trusted,
				// A connection that is taken up again would be one of somebody who was trusted then.
				SessionTicketsDisabled: true,
				VerifyConnection:       func(state tls.ConnectionState) error { return checkName(state, clientName) },
			}, nil
		},
	}
}

var errNoClientName = errors.New("the client's certificate is not that of a gateway")

// checkName demands the name of a certificate that was verified already.
func checkName(state tls.ConnectionState, name string) error {
	if len(state.PeerCertificates) == 0 || state.PeerCertificates[0].VerifyHostname(name) != nil {
		return errNoClientName
	}
	return nil
}

// Dialer returns a function that connects to servers which have the name, as the client that the certificate names, and speaks HTTP/2.
func (f *Folder) Dialer(serverName string, timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		current := f.current.Load()
		dialer := &tls.Dialer{
			NetDialer: &net.Dialer{Timeout: timeout},
			Config: &tls.Config{
				MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, ServerName: serverName,
				RootCAs: current.trusted, Certificates: []tls.Certificate{current.certificate},
			},
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("connecting to a node: %w", err)
		}
		return conn, nil
	}
}
