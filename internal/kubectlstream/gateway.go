package kubectlstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/internal/routing/streamname"
	"github.com/streamshift/streamshift/streamclient"
)

const (
	// gatewayVariable is the environment variable that names the gateway.
	gatewayVariable = "STREAMSHIFT_GATEWAY"
	// A cluster may name its gateway to everybody who has access to it, in this ConfigMap, under this key.
	gatewayNamespace = "kube-public"
	gatewayConfigMap = "streamshift"
	gatewayKey       = "gateway"
	// Whom to trust there, as PEM, may be under this key.
	authorityKey = "ca.crt"
)

// gatewayHelp says where the gateway's address comes from.
const gatewayHelp = `The gateway is the one of --gateway, of the environment variable ` + gatewayVariable + `, or the one that the cluster names in
its ConfigMap ` + gatewayNamespace + "/" + gatewayConfigMap + ", key " + gatewayKey + `. It is told who asks by --gateway-token or the variable
` + tokenVariable + "; the one that the cluster names, by the token of the kubeconfig. No token is sent without TLS."

// gateway returns where the gateway is. The cluster is asked only where nothing else names it.
func (a *access) gateway(ctx context.Context, flag string) (place, error) {
	if address := cmp.Or(flag, a.Getenv(gatewayVariable)); address != "" {
		return checked(place{url: address})
	}
	const otherwise = "give --gateway or set " + gatewayVariable
	c, err := a.connect(a.flags)
	if err != nil {
		return place{}, fmt.Errorf("asking the cluster for its gateway (or %s): %w", otherwise, err)
	}
	named := &corev1.ConfigMap{}
	err = c.Get(ctx, client.ObjectKey{Namespace: gatewayNamespace, Name: gatewayConfigMap}, named)
	switch {
	case apierrors.IsNotFound(err):
		return place{}, fmt.Errorf("no gateway is known: %s; the cluster has no ConfigMap %s/%s that names one", otherwise, gatewayNamespace, gatewayConfigMap)
	case err != nil:
		return place{}, fmt.Errorf("asking the cluster for its gateway (or %s): %w", otherwise, err)
	case named.Data[gatewayKey] == "":
		return place{}, fmt.Errorf("no gateway is known: %s; the ConfigMap %s/%s has no key %q", otherwise, gatewayNamespace, gatewayConfigMap, gatewayKey)
	}
	return checked(place{url: named.Data[gatewayKey], trusted: named.Data[authorityKey], named: true})
}

func checked(p place) (place, error) {
	parsed, err := url.Parse(p.url)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return place{}, fmt.Errorf("the gateway %q is no URL such as http://localhost:4437", p.url)
	}
	return p, nil
}

// records returns the stream of this name at the gateway, and what it holds.
func (a *access) records(ctx context.Context, argument string, gateway gatewayFlags) (*streamclient.Stream, streamclient.Info, error) {
	object, err := objectName(argument)
	if err != nil {
		return nil, streamclient.Info{}, err
	}
	namespace, err := a.namespace()
	if err != nil {
		return nil, streamclient.Info{}, err
	}
	at, err := a.gateway(ctx, gateway.address)
	if err != nil {
		return nil, streamclient.Info{}, err
	}
	c, err := a.client(at, gateway)
	if err != nil {
		return nil, streamclient.Info{}, err
	}
	address, stream := at.url, c.Stream(namespace, streamname.Client(object))
	info, err := saying(a.ErrOut, sayAfter, fmt.Sprintf("Waiting for %s to answer for stream %q", address, argument),
		func() (streamclient.Info, error) { return stream.Head(ctx) })
	if err != nil {
		return nil, info, lookError(err, address, namespace, argument)
	}
	return stream, info, nil
}

// sayAfter is how long a call may last before a person is told what it waits for.
const sayAfter = 2 * time.Second

// saying makes a call, and prints what it waits for where it lasts.
func saying[T any](out io.Writer, after time.Duration, what string, call func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = call()
	}()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		fmt.Fprintln(out, what)
		<-done
	}
	return result, err
}

// lookError says what to do where a gateway does not tell what a stream holds.
func lookError(err error, address, namespace, argument string) error {
	var answer *streamclient.Error
	switch {
	case errors.Is(err, streamclient.ErrNotFound):
		return fmt.Errorf("there is no stream %q in namespace %q at %s: kubectl stream list -A shows those that there are", argument, namespace, address)
	case errors.As(err, &answer) && errors.Is(err, streamclient.ErrUnavailable):
		return fmt.Errorf("%s cannot serve stream %q now (%w): kubectl stream status %s -n %s says what the stream waits for",
			address, argument, answer, argument, namespace)
	}
	return gatewayError(address, err)
}

// gatewayError says at which gateway something failed.
func gatewayError(address string, err error) error {
	var answer *streamclient.Error
	if errors.As(err, &answer) || errors.Is(err, context.Canceled) {
		return advise(err)
	}
	return &unreachable{address: address, err: err}
}

// unreachable tells that a gateway gave no answer.
type unreachable struct {
	address string
	err     error
}

func (u *unreachable) Error() string {
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](u.err); ok {
		return fmt.Sprintf("gateway %s is not trusted: %v; --gateway-ca names a file with whom to trust, such as ca.crt of the ConfigMap %s/%s",
			u.address, certificate, gatewayNamespace, gatewayConfigMap)
	}
	return fmt.Sprintf("gateway %s does not answer: %v; check --gateway and that it runs", u.address, u.err)
}

func (u *unreachable) Unwrap() error { return u.err }
