//go:build linux

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// nodeNamespaces are a node's own, beside the network.
const nodeNamespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID

// Options of a cluster.
type Options struct {
	// Checkout is this module's folder.
	Checkout string
	// Images that every node shall have, beside the one of pods' first process.
	Images []Images
	// Beside are programs that run on the control plane's machine, and are reached at ControlAddress.
	Beside []Program
	// Progress is told, a line each, what is done.
	Progress io.Writer
}

// Program is a program that runs as long as the cluster. Arguments are made for it with a folder that it may fill.
type Program struct {
	Name, Path string
	Arguments  func(folder string) ([]string, error)
}

// ControlAddress is the address of the control plane's machine.
const ControlAddress = controlAddress

// Cluster is what was started.
type Cluster struct {
	options   Options
	folder    folder
	programs  programs
	lock      *os.File
	began     time.Time
	processes []*process // all but nodes, in the order of their start
}

// Start removes what an earlier cluster left, builds images and starts everything. It returns when all nodes are ready; after an error
// nothing is left.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, folder: stateFolder(), began: time.Now()}
	if err := os.Setenv("PATH", searchPath+":"+os.Getenv("PATH")); err != nil { // containerd looks for its helpers
		return nil, fmt.Errorf("setting PATH: %w", err)
	}
	var err error
	if c.programs, err = cachedPrograms(ctx, options.Checkout); err != nil {
		return nil, err
	}
	if c.lock, err = takeLock(string(c.folder) + ".lock"); err != nil {
		return nil, err
	}
	if err := c.folder.removeLeftovers(ctx); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(true)) //nolint:contextcheck // also after the context has ended
	}
	return c, nil
}

// takeLock waits until no other cluster is on this machine.
func takeLock(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the clusters' lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("taking the clusters' lock: %w", err), lock.Close())
	}
	return lock, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := os.MkdirAll(c.folder.join("logs"), 0o755); err != nil { //nolint:gosec // pods' users pass through it
		return fmt.Errorf("making the cluster's folder: %w", err)
	}
	images := append([]Images{{
		Version: pauseVersion, Programs: "test/kubelets", Names: []string{"pause"},
	}}, c.options.Images...)
	for _, images := range images {
		if err := c.provideImages(ctx, images); err != nil {
			return err
		}
	}
	c.progress("images are built")
	if err := c.folder.writeIdentities(); err != nil {
		return err
	}
	if err := makeNetwork(ctx); err != nil {
		return err
	}
	for _, program := range c.options.Beside {
		args, err := program.Arguments(c.folder.join("beside", program.Name))
		if err != nil {
			return err
		}
		started, err := c.folder.start(control, program.Name, program.Path, args...)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, started)
	}
	if err := c.startControlPlane(ctx); err != nil {
		return err
	}
	for _, n := range nodes() {
		if err := c.folder.startNode(n, c.programs); err != nil {
			return err
		}
	}
	if err := c.startClientsProxy(); err != nil {
		return err
	}
	c.progress("everything is started")
	return nil
}

// startNode starts the node: its first process starts all others.
func (f folder) startNode(n node, programs programs) error {
	if err := n.makeCgroups(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	first, err := f.startIn(n.machine, n.name, &syscall.SysProcAttr{Cloneflags: nodeNamespaces},
		self, nodeVerb, n.name, string(f), programs.folder)
	if err != nil {
		return err
	}
	_, err = f.write(fmt.Appendf(nil, "%d", first.command.Process.Pid), "nodes", n.name, "pid")
	return err
}

// Stop ends everything and removes it, but for the logs where they are wanted.
func (c *Cluster) Stop(keepLogs bool) error {
	// The control plane would only complain about nodes that have gone: it goes at once, as they do.
	var errs []error
	for _, p := range slices.Backward(c.processes) {
		errs = append(errs, p.kill())
	}
	if keepLogs {
		kept := string(c.folder) + "-logs"
		errs = append(errs, os.RemoveAll(kept), os.Rename(c.folder.join("logs"), kept))
		c.progress("logs are kept in %s", kept)
	}
	errs = append(errs, c.folder.removeLeftovers(context.Background()))
	c.progress("everything is removed")
	return errors.Join(append(errs, c.lock.Close())...)
}

func (c *Cluster) progress(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.options.Progress, "%5.1f s: "+format+"\n", append([]any{time.Since(c.began).Seconds()}, arguments...)...)
}

// Kubectl is the path of kubectl, Kubeconfig that of the administrator's kubeconfig. They work on the clients' machine.
func (c *Cluster) Kubectl() string { return c.programs.kubernetes("kubectl") }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.folder.kubeconfig(administrator) }

// Folder is the cluster's; tests may put files there.
func (c *Cluster) Folder() string { return string(c.folder) }

// RESTConfig is the administrator's, without a rate limit.
func (c *Cluster) RESTConfig() (*rest.Config, error) { return c.folder.administratorConfig() }

// AwaitNodes waits until every node is ready. It works on the clients' machine.
func (c *Cluster) AwaitNodes(ctx context.Context) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	for _, name := range NodeNames {
		if err := awaitNode(ctx, api, name, ""); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) api() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return api, nil
}

// checkoutOf returns the folder of this module at or above the current folder.
func checkoutOf() (string, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", fmt.Errorf("finding the current folder: %w", err)
	}
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
	}
	return "", errors.New("finding the checkout: there is no go.mod in the current folder or above it")
}
