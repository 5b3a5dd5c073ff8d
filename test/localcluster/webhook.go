package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookTimeout bounds how long the manager may take to make its certificate and to hand its authority to the API server.
const webhookTimeout = 60 * time.Second

// installWebhook applies config/webhook so that the API server reaches the webhook at the address. The configuration goes
// on naming a Service, so that the certificate is checked for the Service's name as in a real cluster; only the Service points at
// this machine, and the port is the process's.
func (c *Cluster) installWebhook(ctx context.Context, address string) error {
	_, portText, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("splitting the webhook's address: %w", err)
	}
	port, err := strconv.ParseInt(portText, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the webhook's port: %w", err)
	}
	objects, err := c.readConfig(ctx, "webhook")
	if err != nil {
		return err
	}
	c.webhooks = nil
	for _, object := range objects {
		if object.GetKind() != "ValidatingWebhookConfiguration" {
			continue // the Service is ours, below
		}
		services, err := pointWebhooks(object, port)
		if err != nil {
			return err
		}
		for _, service := range services {
			if err := c.applyLocalService(ctx, service); err != nil {
				return err
			}
		}
		if err := c.apply(ctx, object); err != nil {
			return fmt.Errorf("installing config/webhook: %w", err)
		}
		c.webhooks = append(c.webhooks, object.GetName())
	}
	return nil
}

type serviceName struct{ namespace, name string }

// pointWebhooks sets the port of every webhook of the configuration and returns the services that they name.
func pointWebhooks(configuration *unstructured.Unstructured, port int64) ([]serviceName, error) {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return nil, fmt.Errorf("reading webhooks of %s: %w", configuration.GetName(), err)
	}
	var services []serviceName
	for _, entry := range webhooks {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("reading webhooks of %s: an entry is a %T", configuration.GetName(), entry)
		}
		service := serviceName{}
		if service.namespace, _, err = unstructured.NestedString(webhook, "clientConfig", "service", "namespace"); err != nil {
			return nil, fmt.Errorf("reading a webhook's service: %w", err)
		}
		if service.name, _, err = unstructured.NestedString(webhook, "clientConfig", "service", "name"); err != nil {
			return nil, fmt.Errorf("reading a webhook's service: %w", err)
		}
		if err := unstructured.SetNestedField(webhook, port, "clientConfig", "service", "port"); err != nil {
			return nil, fmt.Errorf("setting a webhook's port: %w", err)
		}
		services = append(services, service)
	}
	if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
		return nil, fmt.Errorf("setting webhooks of %s: %w", configuration.GetName(), err)
	}
	return services, nil
}

// applyLocalService writes a Service that the API server resolves to this machine.
func (c *Cluster) applyLocalService(ctx context.Context, name serviceName) error {
	content := map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   map[string]any{"namespace": name.namespace, "name": name.name},
		"spec":       map[string]any{"type": string(corev1.ServiceTypeExternalName), "externalName": "127.0.0.1"},
	}
	return c.apply(ctx, &unstructured.Unstructured{Object: content})
}

// awaitWebhooks waits until every webhook has its certificate authority.
func (c *Cluster) awaitWebhooks(ctx context.Context) error {
	for _, name := range c.webhooks {
		err := poll(ctx, "webhooks "+name+" to have their certificate authority", webhookTimeout, func(ctx context.Context) error {
			return c.checkAuthority(ctx, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) checkAuthority(ctx context.Context, name string) error {
	configuration := &unstructured.Unstructured{}
	configuration.SetAPIVersion("admissionregistration.k8s.io/v1")
	configuration.SetKind("ValidatingWebhookConfiguration")
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, configuration); err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading its webhooks: %w", err)
	}
	for _, entry := range webhooks {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("an entry is a %T", entry)
		}
		if bundle, _, err := unstructured.NestedString(webhook, "clientConfig", "caBundle"); err != nil || bundle == "" {
			return errors.New("the manager has not injected it yet")
		}
	}
	return nil
}
