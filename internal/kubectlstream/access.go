package kubectlstream

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	// requestsPerSecond and requestBurst are those of kubectl.
	requestsPerSecond = 50
	requestBurst      = 300
	// pageSize is how many objects one request lists.
	pageSize = 500
)

// newScheme holds the kinds that the plugin reads and writes: Nodes, ConfigMaps, and Streamshift's.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("making the scheme of kinds: %w", err)
		}
	}
	return scheme, nil
}

// access is how commands reach the cluster, by the flags that every command of kubectl has.
type access struct {
	Environment
	flags *genericclioptions.ConfigFlags
	// connect returns a client of the cluster that the flags name.
	connect func(*genericclioptions.ConfigFlags) (client.WithWatch, error)
}

func newAccess(env Environment) *access {
	flags := genericclioptions.NewConfigFlags(true).WithWarningPrinter(env.IOStreams)
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS, config.Burst = requestsPerSecond, requestBurst
		return config
	}
	return &access{Environment: env, flags: flags, connect: connect}
}

func connect(flags *genericclioptions.ConfigFlags) (client.WithWatch, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("asking what kinds there are: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return c, nil
}

// namespace is the one that --namespace or the kubeconfig names.
func (a *access) namespace() (string, error) {
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	return namespace, nil
}

// stream connects, and reads the stream that an argument names. Where there is none, the error names those that there are.
func (a *access) stream(ctx context.Context, argument string) (client.WithWatch, *v1alpha1.Stream, error) {
	name, err := objectName(argument)
	if err != nil {
		return nil, nil, err
	}
	namespace, err := a.namespace()
	if err != nil {
		return nil, nil, err
	}
	c, err := a.connect(a.flags)
	if err != nil {
		return nil, nil, err
	}
	stream := &v1alpha1.Stream{}
	err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stream)
	if apierrors.IsNotFound(err) {
		return nil, nil, noStream(ctx, c, namespace, argument)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading stream %s: %w", argument, err)
	}
	return c, stream, nil
}

func noStream(ctx context.Context, c client.Client, namespace, argument string) error {
	streams, err := listStreams(ctx, c, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	var names []string
	for i := range streams.Items {
		names = append(names, shownName(streams.Items[i].Name))
	}
	return fmt.Errorf("there is no stream %q in namespace %q; there are: %s (-n chooses another namespace)", argument, namespace, those(names))
}

// node reads a StreamNode. Where there is none, the error names those that there are.
func node(ctx context.Context, c client.Client, name string) (*v1alpha1.StreamNode, error) {
	found := &v1alpha1.StreamNode{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, found)
	if err == nil {
		return found, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	list, err := listNodes(ctx, c)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return nil, fmt.Errorf("node %q is not registered with Streamshift; the nodes that are: %s", name, those(names))
}

// listStreams reads every page.
func listStreams(ctx context.Context, c client.Client, options ...client.ListOption) (*v1alpha1.StreamList, error) {
	all := &v1alpha1.StreamList{}
	for page := (&v1alpha1.StreamList{}); ; {
		if err := c.List(ctx, page, append([]client.ListOption{client.Limit(pageSize), client.Continue(page.Continue)}, options...)...); err != nil {
			return nil, fmt.Errorf("listing streams: %w", err)
		}
		all.Items = append(all.Items, page.Items...)
		if page.Continue == "" {
			all.ResourceVersion = page.ResourceVersion
			return all, nil
		}
	}
}

func listNodes(ctx context.Context, c client.Client, options ...client.ListOption) (*v1alpha1.StreamNodeList, error) {
	list := &v1alpha1.StreamNodeList{}
	if err := c.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return list, nil
}

// listTransfers reads the transfers of a stream.
func listTransfers(ctx context.Context, c client.Client, stream *v1alpha1.Stream) (*v1alpha1.StreamTransferList, error) {
	list := &v1alpha1.StreamTransferList{}
	err := c.List(ctx, list, client.InNamespace(stream.Namespace), client.MatchingFields{"spec.stream": stream.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the transfers of stream %s: %w", stream.Name, err)
	}
	return list, nil
}

// setKinds gives the items of a list their kind, which a client leaves out of what it decodes.
func setKinds[T any, P interface {
	*T
	client.Object
}](items []T, kind string) {
	for i := range items {
		P(&items[i]).GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	}
}

// selector reads a label selector; empty selects everything.
func selector(text string) (client.ListOption, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading --selector %q: %w", text, err)
	}
	return client.MatchingLabelsSelector{Selector: parsed}, nil
}
