package localcluster

import (
	"context"
	"fmt"
	"net"
	"time"
)

// auditPolicy writes down who changed what, once a request has been answered. Requests that change nothing are left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// tokenLife is the longest life of a service-account token: longer than any playground stays up.
const tokenLife = 30 * 24 * time.Hour

// startEtcd starts etcd as it comes: it syncs every write to disk.
func (c *Cluster) startEtcd(ctx context.Context) error {
	process, err := c.startProgram(ctx, program{name: "etcd", path: c.assets.etcd, resignals: true, arguments: func() (invocation, error) {
		client, err := c.ports.takeAddress()
		if err != nil {
			return invocation{}, err
		}
		peer, err := c.ports.takeAddress()
		if err != nil {
			return invocation{}, err
		}
		return invocation{
			args: []string{
				"--name=default",
				"--data-dir=" + c.folder.join("etcd"),
				"--listen-client-urls=http://" + client,
				"--advertise-client-urls=http://" + client,
				"--listen-peer-urls=http://" + peer,
				"--initial-advertise-peer-urls=http://" + peer,
				"--initial-cluster=default=http://" + peer,
				"--logger=zap",
				"--log-level=warn",
			},
			readyURL:  "http://" + client + "/readyz",
			addresses: map[string]string{"client": "http://" + client},
		}, nil
	}})
	c.etcd = process
	return err
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	files, err := c.writeAPIServerFiles()
	if err != nil {
		return err
	}
	process, err := c.startProgram(ctx, program{name: "kube-apiserver", path: c.assets.apiServer, arguments: func() (invocation, error) {
		address, err := c.ports.takeAddress()
		if err != nil {
			return invocation{}, err
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return invocation{}, fmt.Errorf("splitting the API server's address: %w", err)
		}
		return invocation{
			args: append(files,
				"--etcd-servers="+c.etcd.addresses["client"],
				"--bind-address="+host,
				"--secure-port="+port,
				"--advertise-address="+host,
				"--endpoint-reconciler-type=none", // it refuses to publish a loopback address
				"--service-cluster-ip-range=10.0.0.0/24",
				"--authorization-mode=RBAC",
				"--service-account-issuer=https://kubernetes.default.svc",
				"--shutdown-watch-termination-grace-period=1s", // or it waits a minute for its clients to go
				"--service-account-max-token-expiration="+tokenLife.String(),
			),
			readyURL:  "https://" + address + "/readyz",
			addresses: map[string]string{"server": "https://" + address},
		}, nil
	}})
	if err != nil {
		return err
	}
	c.apiServer = process
	c.server = process.addresses["server"]
	return nil
}

// writeAPIServerFiles writes certificates, keys and the audit policy, and returns the arguments that name them.
func (c *Cluster) writeAPIServerFiles() ([]string, error) {
	server, err := c.ca.server(time.Now())
	if err != nil {
		return nil, err
	}
	signing, err := newSigningKey()
	if err != nil {
		return nil, err
	}
	files := []struct {
		name, content string
		flags         []string
	}{
		{"ca.crt", string(c.ca.pem), []string{"--client-ca-file="}},
		{"apiserver.crt", string(server.certificate), []string{"--tls-cert-file="}},
		{"apiserver.key", string(server.key), []string{"--tls-private-key-file="}},
		{"service-accounts.key", string(signing), []string{"--service-account-key-file=", "--service-account-signing-key-file="}},
	}
	var args []string
	switch c.options.Audit {
	case AuditNothing:
	case AuditWrites:
		files = append(files, struct {
			name, content string
			flags         []string
		}{"audit-policy.yaml", auditPolicy, []string{"--audit-policy-file="}})
		// blocking: a request is on disk before it is answered, so that who waited for the answer may count it.
		args = append(args, "--audit-log-path="+c.auditPath(), "--audit-log-mode=blocking")
	}
	for _, file := range files {
		path, err := c.folder.write(file.name, []byte(file.content))
		if err != nil {
			return nil, err
		}
		for _, flag := range file.flags {
			args = append(args, flag+path)
		}
	}
	return args, nil
}

func (c *Cluster) auditPath() string { return c.folder.join("audit.log") }
