//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// account is whom clients act as: somebody who may edit in the namespace, and nothing else.
	account = "client"
	// requestTimeout bounds one request; above the gateway's park time and the longest long-poll.
	requestTimeout = 40 * time.Second
)

// gateway is how a client in the cluster reaches streams: at the address that the cluster tells everybody, whose name the Service's
// ClusterIP stands for since there is no DNS, trusting the authority that is told beside it, with a token of its own.
type gateway struct {
	url  string
	http *http.Client
}

// findGateway reads where the gateway is as any client does. connections is how many the client keeps.
func findGateway(ctx context.Context, connections int) gateway {
	GinkgoHelper()
	told := &corev1.ConfigMap{}
	Expect(api.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "streamshift"}, told)).To(Succeed())
	address, err := url.Parse(told.Data["gateway"])
	Expect(err).NotTo(HaveOccurred())
	name, _, _ := strings.Cut(address.Hostname(), ".")
	service := &corev1.Service{}
	Expect(api.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, service)).To(Succeed())

	transport := &http.Transport{
		MaxIdleConns: connections, MaxIdleConnsPerHost: connections,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			port := fmt.Sprint(service.Spec.Ports[0].Port)
			return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(service.Spec.ClusterIP, port))
		},
	}
	found := gateway{url: address.String(), http: &http.Client{
		Timeout: requestTimeout, Transport: transport,
		// A stock client must not be sent elsewhere: an answer that does so counts as a failure.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if address.Scheme == "https" {
		authorities := x509.NewCertPool()
		Expect(authorities.AppendCertsFromPEM([]byte(told.Data["ca.crt"]))).To(BeTrue(), "%v", told.Data)
		transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
		found.http.Transport = bearer{token: tokenOf(ctx, account), next: transport}
	}
	return found
}

// bearer says with every request who sends it.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(request) //nolint:wrapcheck // it is the client's own
}

// tokenOf returns a token of an account that may edit in the namespace of the tests.
func tokenOf(ctx context.Context, account string) string {
	GinkgoHelper()
	if _, err := tryKubectl(ctx, "-n", namespace, "get", "serviceaccount", account); err != nil {
		kubectl(ctx, "-n", namespace, "create", "serviceaccount", account)
		kubectl(ctx, "-n", namespace, "create", "rolebinding", account, "--clusterrole=edit", "--serviceaccount="+namespace+":"+account)
	}
	return strings.TrimSpace(kubectl(ctx, "-n", namespace, "create", "token", account, "--duration=1h"))
}
