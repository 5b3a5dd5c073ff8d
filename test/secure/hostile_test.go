package secure

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	k8s "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/internal/pki"
	"github.com/streamshift/streamshift/internal/tlsfolder"
	"github.com/streamshift/streamshift/streamclient"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	vault  = "/v1/stream/" + namespace + "/vault"
	secret = "the-content-that-nobody-may-see"
	// slowest bounds the wait for the end of a connection whose client is silent: the gateway gives it two minutes.
	slowest = 3 * time.Minute
)

// ask sends a request as it is written, whatever is wrong with it, and returns the status and the body of the answer. Each of the lines is
// a header.
func ask(ctx context.Context, method, path, body string, lines ...string) (status int, answer string, err error) {
	config, err := cluster.StreamsTLS()
	if err != nil {
		return 0, "", err
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", streamshift.Gateway.Address())
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n", method, path)
	for _, line := range lines {
		head += line + "\r\n"
	}
	if body != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	go func() { _, _ = io.WriteString(conn, head+"\r\n"+body) }() // it may be answered before it was read to its end
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func with(token string) string { return "Authorization: Bearer " + token }

// requestsOf are the hostile client's requests with the tokens that it has: a sentence, what is sent, and how it must be answered.
func requestsOf(t tokens) map[string]struct {
	method, path, body string
	lines              []string
	want               int
} {
	type r = struct {
		method, path, body string
		lines              []string
		want               int
	}
	record := `"x"`
	return map[string]r{
		"reads without a token":                      {"GET", vault + "?offset=-1", "", nil, 401},
		"appends without a token":                    {"POST", vault, record, nil, 401},
		"creates without a token":                    {"PUT", vault + "2", "", nil, 401},
		"deletes without a token":                    {"DELETE", vault, "", nil, 401},
		"asks what there is without a token":         {"HEAD", vault, "", nil, 401},
		"sends garbage for a token":                  {"GET", vault, "", []string{with("garbage")}, 401},
		"sends a name and a password":                {"GET", vault, "", []string{"Authorization: Basic YWRtaW46YWRtaW4="}, 401},
		"sends an empty token":                       {"GET", vault, "", []string{"Authorization: Bearer "}, 401},
		"sends a token of 20 KiB":                    {"GET", vault, "", []string{with(strings.Repeat("x", 20<<10))}, 401},
		"sends two tokens in one header":             {"GET", vault, "", []string{with(t.stranger + ", Bearer " + reader)}, 401},
		"sends a token that has run out":             {"POST", vault, record, []string{with(t.expired)}, 401},
		"sends a token for somebody else's service":  {"POST", vault, record, []string{with(t.foreignAudience)}, 401},
		"sends the token of a deleted account":       {"POST", vault, record, []string{with(t.deleted)}, 401},
		"sends a token that nobody has signed":       {"POST", vault, record, []string{with(t.unsigned)}, 401},
		"sends a token that it has signed itself":    {"POST", vault, record, []string{with(t.forged)}, 401},
		"sends the token in the query":               {"GET", vault + "?offset=-1&access_token=" + reader, "", nil, 401},
		"sends the token in a cookie":                {"GET", vault, "", []string{"Cookie: Authorization=Bearer " + reader}, 401},
		"sends the token as proxies get it":          {"GET", vault, "", []string{"Proxy-Authorization: Bearer " + reader}, 401},
		"sends the token as for a web socket":        {"GET", vault, "", []string{"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + reader}, 401},
		"reads without a role":                       {"GET", vault + "?offset=-1", "", []string{with(t.stranger)}, 403},
		"waits for records without a role":           {"GET", vault + "?offset=now&live=long-poll", "", []string{with(t.stranger)}, 403},
		"follows without a role":                     {"GET", vault + "?offset=-1&live=sse", "", []string{with(t.stranger)}, 403},
		"appends without a role":                     {"POST", vault, record, []string{with(t.stranger)}, 403},
		"asks whether there is a stream, and":        {"HEAD", vault, "", []string{with(t.stranger)}, 403},
		"is told the same where there is none":       {"HEAD", vault + "-of-nobody", "", []string{with(t.stranger)}, 403},
		"appends as a reader":                        {"POST", vault, record, []string{with(reader)}, 403},
		"appends as a producer, as a reader":         {"POST", vault, record, []string{with(reader), "Producer-Id: p", "Producer-Epoch: 9", "Producer-Seq: 0"}, 403},
		"closes as a reader":                         {"POST", vault, "", []string{with(reader), "Stream-Closed: true", "Content-Length: 0"}, 403},
		"deletes as a reader":                        {"DELETE", vault, "", []string{with(reader)}, 403},
		"creates as a reader":                        {"PUT", vault + "2", "", []string{with(reader)}, 403},
		"reads as a writer of another namespace":     {"GET", vault + "?offset=-1", "", []string{with(t.elsewhere)}, 403},
		"appends as a writer of another namespace":   {"POST", vault, record, []string{with(t.elsewhere)}, 403},
		"names the stream without its namespace":     {"GET", "/v1/stream/vault?offset=-1", "", []string{with(t.elsewhere)}, 403},
		"goes up by ..":                              {"GET", "/v1/stream/other/../default/vault", "", []string{with(t.elsewhere)}, 400},
		"goes up by %2e%2e":                          {"GET", "/v1/stream/other/%2e%2e/default/vault", "", []string{with(t.elsewhere)}, 400},
		"hides the slashes":                          {"GET", "/v1/stream/other%2F..%2Fdefault%2Fvault", "", []string{with(t.elsewhere)}, 400},
		"hides one slash":                            {"GET", "/v1/stream/default%2Fvault?offset=-1", "", []string{with(t.elsewhere)}, 403},
		"doubles slashes":                            {"GET", "/v1/stream/other//default/vault", "", []string{with(t.elsewhere)}, 400},
		"doubles the first slash":                    {"GET", "//v1/stream/default/vault", "", []string{with(t.stranger)}, 404},
		"writes the path in capitals":                {"GET", "/V1/STREAM/default/vault", "", []string{with(t.stranger)}, 404},
		"writes the namespace in capitals":           {"GET", "/v1/stream/DEFAULT/vault?offset=-1", "", []string{with(t.elsewhere)}, 403},
		"asks for a host's path":                     {"GET", "http://127.0.0.1" + vault + "?offset=-1", "", []string{with(t.stranger)}, 403},
		"says that it is the administrator":          {"GET", vault, "", []string{"X-Remote-User: admin", "X-Remote-Group: system:masters"}, 401},
		"says that a proxy knows it":                 {"GET", vault, "", []string{"X-Forwarded-User: admin", "X-Forwarded-For: 127.0.0.1"}, 401},
		"acts as somebody else":                      {"GET", vault + "?offset=-1", "", []string{with(t.stranger), "Impersonate-User: system:admin", "Impersonate-Group: system:masters"}, 403},
		"says that it is a gateway":                  {"GET", vault, "", []string{"Streamshift-Route-Epoch: 1", "Streamshift-Route-Role: owner", "Streamshift-Hops: 1"}, 401},
		"hides its token from the gateway":           {"GET", vault, "", []string{with(reader), "Connection: Authorization"}, 200},
		"asks by another method than it says":        {"GET", vault + "?offset=-1", "", []string{with(reader), "X-HTTP-Method-Override: DELETE", "X-Method-Override: DELETE"}, 200},
		"asks by another method, without a token":    {"OPTIONS", vault, "", []string{"X-HTTP-Method-Override: GET"}, 204},
		"uses a method that streams do not have":     {"PATCH", vault, record, []string{with(writer)}, 405},
		"traces":                                     {"TRACE", vault, "", []string{with(t.stranger)}, 405},
		"connects through":                           {"CONNECT", "127.0.0.1:443", "", []string{with(t.stranger)}, 404},
		"sends 100 KiB of headers":                   {"GET", vault, "", []string{"X-Filler: " + strings.Repeat("x", 100<<10)}, 431},
		"sends a body of 1 MiB that it may not":      {"POST", vault, `"` + strings.Repeat("x", 1<<20) + `"`, []string{with(t.stranger)}, 403},
		"announces a body that it never sends":       {"POST", vault, "", []string{with(t.stranger), "Content-Length: 1000000"}, 403},
		"waits for leave to send what it may not":    {"POST", vault, "", []string{with(t.stranger), "Content-Length: 1000000", "Expect: 100-continue"}, 403},
		"says in two ways how long its body is":      {"POST", vault, record, []string{with(reader), "Transfer-Encoding: chunked"}, 403},
		"says twice how long its body is":            {"POST", vault, record, []string{with(reader), "Content-Length: 40"}, 400},
		"asks where the gateway keeps other things":  {"GET", "/metrics", "", []string{with(t.stranger)}, 404},
		"asks for the folders of the gateway's host": {"GET", "/v1/stream/../../etc/passwd", "", []string{with(t.stranger)}, 400},
	}
}

// handshakes are the hostile client's tries to be taken for a gateway by a node, or to speak without TLS.
func handshakes(ctx context.Context) map[string]func() error {
	dial := func(process *localcluster.Process, config *tls.Config) error {
		config.InsecureSkipVerify = true
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", process.Address())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, "GET "+vault+"?offset=-1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if err == nil && len(answer) == 0 {
			err = io.EOF
		}
		return err
	}
	node := streamshift.Nodes["node-a"]
	signed := func(usages []x509.ExtKeyUsage, names ...string) *tls.Config {
		authority, err := pki.NewAuthority("Streamshift", time.Hour, time.Now())
		Expect(err).NotTo(HaveOccurred())
		pair, err := authority.Issue(pki.Request{Names: names, Usages: usages}, time.Hour, time.Now())
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
		Expect(err).NotTo(HaveOccurred())
		return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	kept := func(name string) *tls.Config {
		data := &corev1.Secret{}
		Expect(cluster.Client().Get(ctx, k8s.ObjectKey{Namespace: localcluster.SystemNamespace, Name: name}, data)).To(Succeed())
		certificate, err := tls.X509KeyPair(data.Data[corev1.TLSCertKey], data.Data[corev1.TLSPrivateKeyKey])
		Expect(err).NotTo(HaveOccurred())
		return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	plain := func(process *localcluster.Process) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", process.Address())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, "GET "+vault+"?offset=-1 HTTP/1.1\r\nHost: x\r\n"+with(reader)+"\r\n\r\n"); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if strings.Contains(string(answer), "400 Bad Request") && !strings.Contains(string(answer), secret) {
			return errors.New("400")
		}
		return err
	}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return map[string]func() error{
		"asks a node without a certificate":                   func() error { return dial(node, &tls.Config{MinVersion: tls.VersionTLS12}) },
		"asks a node with a certificate of its own authority": func() error { return dial(node, signed(client, tlsfolder.GatewayName)) },
		"asks a node as a node":                               func() error { return dial(node, kept("streamshift-node-tls")) },
		"asks a node as the webhook":                          func() error { return dial(node, kept("streamshift-webhook-tls")) },
		"asks a node by TLS 1.2, with the gateway's own": func() error {
			c := kept("streamshift-gateway-tls")
			c.MaxVersion = tls.VersionTLS12
			return dial(node, c)
		},
		"asks a node without TLS":      func() error { return plain(node) },
		"asks the gateway without TLS": func() error { return plain(streamshift.Gateway) },
		"asks the gateway by TLS 1.0": func() error {
			return dial(streamshift.Gateway, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10})
		},
		"asks the gateway by TLS 1.1": func() error {
			return dial(streamshift.Gateway, &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11})
		},
	}
}

// begin connects to the gateway and sends the beginning of a request. The connection is closed when the specs are through.
func begin(ctx context.Context, sent string) net.Conn {
	config, err := cluster.StreamsTLS()
	Expect(err).NotTo(HaveOccurred())
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", streamshift.Gateway.Address())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = conn.Close() }) // the gateway may have closed it before
	_, err = io.WriteString(conn, sent)
	Expect(err).NotTo(HaveOccurred())
	return conn
}

var _ = Describe("A hostile client", Ordered, func() {
	var (
		collected tokens
		before    streamclient.Info
		// unfinished are connections with a request that does not go on, by what is missing.
		unfinished map[string]net.Conn
	)
	BeforeAll(func(ctx SpecContext) {
		newStream(ctx, "vault")
		Eventually(ctx, func() error { // roles may be known a moment later
			_, err := client(writer).Stream(namespace, "vault").Append(ctx, []byte(`"`+secret+`"`), streamclient.AppendOptions{ContentType: "application/json"})
			return err
		}).WithTimeout(patience).Should(Succeed())
		var err error
		Eventually(ctx, func() error {
			before, err = client(reader).Stream(namespace, "vault").Head(ctx)
			return err
		}).WithTimeout(patience).Should(Succeed())
		collected = collectTokens(ctx)
		// They are begun here, since the gateway gives them two minutes, in which the other specs run.
		unfinished = map[string]net.Conn{
			"headers": begin(ctx, "GET "+vault+" HTTP/1.1\r\nHost: x\r\n"),
			"body":    begin(ctx, "POST "+vault+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"),
		}
	})

	It("has tokens that would be good if they were not what they are", func(ctx SpecContext) {
		status, _, err := ask(ctx, "GET", vault+"?offset=-1", "", with(forge(ctx, ownKey(), time.Now().Add(time.Hour))))
		Expect(err).NotTo(HaveOccurred())
		Expect(status).To(Equal(http.StatusOK))
	})

	It("gets nowhere, whatever it sends", func(ctx SpecContext) {
		requests := requestsOf(collected)
		Expect(len(requests)).To(BeNumerically(">=", 50))
		var wrong []string
		for name, r := range requests {
			status, answer, err := ask(ctx, r.method, r.path, r.body, r.lines...)
			if err != nil || status != r.want || status >= http.StatusBadRequest && strings.Contains(answer, secret) {
				wrong = append(wrong, fmt.Sprintf("a client that %s is answered %d, want %d: %.300s %v", name, status, r.want, answer, err))
			}
		}
		Expect(wrong).To(BeEmpty())
	})

	It("gets nowhere beside the gateway, or without TLS", func(ctx SpecContext) {
		for name, try := range handshakes(ctx) {
			Expect(try()).NotTo(Succeed(), "a client that %s", name)
		}
	})

	It("takes no place among those who wait", func(ctx SpecContext) {
		for range 300 {
			status, _, err := ask(ctx, "POST", "/v1/stream/"+namespace+"/not-placed", `"x"`, with(collected.stranger))
			Expect(err).NotTo(HaveOccurred())
			Expect(status).To(Equal(http.StatusForbidden))
		}
	})

	It("is cut off where it never sends the rest of its headers, or of its body", func() {
		for name, conn := range unfinished {
			_ = conn.SetDeadline(time.Now().Add(slowest))
			_, err := io.ReadAll(conn) // until the gateway ends the connection
			var late net.Error
			Expect(errors.As(err, &late) && late.Timeout()).To(BeFalse(), "its connection is still open: %s", name)
		}
	})

	It("has changed nothing, and nothing of it is in a log", func(ctx SpecContext) {
		after, err := client(reader).Stream(namespace, "vault").Head(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(before))
		for _, process := range cluster.Processes() {
			content, err := os.ReadFile(filepath.Join(cluster.Folder(), process.Name()+".log"))
			Expect(err).NotTo(HaveOccurred())
			for _, hidden := range []string{writer, reader, collected.stranger, collected.expired, collected.forged, secret, "access_token"} {
				Expect(strings.Contains(string(content), hidden)).To(BeFalse(), "the log of %s has a token, a query or a record", process.Name())
			}
		}
	})
})
