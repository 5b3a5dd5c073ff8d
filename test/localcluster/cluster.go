package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// portRetries bounds how often a process is started again since another program took its port.
const portRetries = 3

// Audit says what the API server writes down about requests.
type Audit int

const (
	// AuditNothing is the default.
	AuditNothing Audit = iota
	// AuditWrites writes down every request that changes an object; Cluster.Writes reads it.
	AuditWrites
)

// Options of a cluster; the zero value is a temporary cluster without audit log.
type Options struct {
	// Folder holds data, kubeconfigs and logs and stays after Stop. Empty: a temporary one, which Stop removes.
	Folder string
	// Audit says what the API server writes down.
	Audit Audit
	// Security says whether nodes and gateways speak TLS, and clients are asked who they are.
	Security Security
	// Programs is the folder of manager, node and gateway, as BuildWithTag returns it. Empty: those of the checkout's bin/.
	Programs string
	// Progress is told, a line each, what is built and started; nil for nobody.
	Progress io.Writer
}

// Cluster is a control plane and what was started on it.
type Cluster struct {
	options Options
	folder  folder
	ports   ports
	assets  assets
	ca      *authority
	config  *rest.Config
	client  client.WithWatch
	server  string // the API server's URL

	etcd      *Process
	apiServer *Process

	webhookServer string   // the name of the manager that the webhooks point at; empty before the first
	webhooks      []string // the names of the webhook configurations installed

	stopped chan struct{} // closed by Stop

	mu        sync.Mutex
	processes []*Process // in the order of their start
}

// Start builds the control plane where needed, starts it and returns once it serves. The context bounds the start only. After
// an error nothing is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	c := &Cluster{options: options, stopped: make(chan struct{})}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.assets, err = buildAssets(ctx, c.options.Progress); err != nil {
		return err
	}
	if c.folder, err = newFolder(c.options.Folder); err != nil {
		return err
	}
	if c.ca, err = newAuthority(time.Now()); err != nil {
		return err
	}
	c.progress("Starting etcd and the API server in %s", c.folder.path)
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	return c.connect()
}

// connect makes the administrator's kubeconfig and client.
func (c *Cluster) connect() error {
	administrator, err := c.ca.administrator(time.Now())
	if err != nil {
		return err
	}
	if err := c.writeAdministrator(administrator); err != nil {
		return err
	}
	c.config = &rest.Config{
		Host:            c.server,
		QPS:             -1, // tests are not to be slowed down by their own client
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: administrator.certificate, KeyData: administrator.key},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("filling the client's scheme: %w", err)
		}
	}
	if c.client, err = client.NewWithWatch(c.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("making the administrator's client: %w", err)
	}
	return nil
}

// Stop ends everything that the cluster started, the last first, and removes a temporary folder. It may be called again.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	processes := slices.Clone(c.processes)
	c.processes = nil
	select {
	case <-c.stopped:
	default:
		close(c.stopped)
	}
	c.mu.Unlock()
	var errs []error
	for _, process := range slices.Backward(processes) {
		errs = append(errs, process.Stop())
	}
	c.ports.release()
	return errors.Join(append(errs, c.folder.close())...)
}

// RESTConfig is the administrator's, without a rate limit. The caller gets a copy.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Client is the administrator's, without a cache; it knows Kubernetes' own kinds and Streamshift's.
func (c *Cluster) Client() client.WithWatch { return c.client }

// Folder holds the cluster's data, kubeconfigs and logs.
func (c *Cluster) Folder() string { return c.folder.path }

// EtcdURL is where etcd answers, its JSON gateway included. It asks nobody who they are.
func (c *Cluster) EtcdURL() string { return c.etcd.addresses["client"] }

// Etcd is the process behind the API server.
func (c *Cluster) Etcd() *Process { return c.etcd }

// APIServer is the Kubernetes API server.
func (c *Cluster) APIServer() *Process { return c.apiServer }

// Processes are all that were started, in the order of their start.
func (c *Cluster) Processes() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.processes)
}

// AwaitReady waits until every process that was started, and not stopped or killed since, is ready: those that ended by
// themselves are back.
func (c *Cluster) AwaitReady(ctx context.Context) error {
	for _, process := range c.Processes() {
		if !process.expected() {
			continue
		}
		err := poll(ctx, process.name+" to be ready", startTimeout, func(ctx context.Context) error { return probe(ctx, process.readyURL) })
		if err != nil {
			return fmt.Errorf("%w\n%s", err, process.tail())
		}
	}
	return nil
}

// program is a process to be started: arguments is asked for them again, with fresh ports, when a port was taken.
type program struct {
	name string
	path string
	env  []string
	// resignals and keeper as in Process.
	resignals bool
	keeper    keeper
	// arguments returns the arguments, the URL that answers 200 once the process is ready, and the addresses it will have.
	arguments func() (invocation, error)
}

type invocation struct {
	args      []string
	readyURL  string
	addresses map[string]string
}

// startProgram starts the program, with other ports where its own were taken by somebody else in between.
func (c *Cluster) startProgram(ctx context.Context, program program) (*Process, error) {
	var err error
	for range portRetries {
		var invocation invocation
		if invocation, err = program.arguments(); err != nil {
			return nil, err
		}
		process := &Process{
			name:      program.name,
			path:      program.path,
			env:       program.env,
			resignals: program.resignals,
			keeper:    program.keeper,
			args:      invocation.args,
			readyURL:  invocation.readyURL,
			addresses: invocation.addresses,
			logPath:   c.folder.join(program.name + ".log"),
		}
		if err = process.Start(ctx); err == nil {
			c.mu.Lock()
			c.processes = append(c.processes, process)
			c.mu.Unlock()
			return process, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, err
}

func (c *Cluster) progress(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.options.Progress, format+"\n", arguments...)
}
