package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fieldOwner = "streamshift-localcluster"
	// establishTimeout bounds how long the API server may take to serve a new kind.
	establishTimeout = 30 * time.Second
)

// Install applies every manifest below config/<folder> for each of the folders, in the order given ("crd", "rbac", ...), and
// returns once the kinds that they define are served. A folder that is made for kustomize is rendered by it, so that what is
// tested is what users install.
func (c *Cluster) Install(ctx context.Context, folders ...string) error {
	for _, folder := range folders {
		objects, err := c.readConfig(ctx, folder)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := c.apply(ctx, object); err != nil {
				return fmt.Errorf("installing config/%s: %w", folder, err)
			}
		}
		for _, object := range objects {
			if object.GetKind() != "CustomResourceDefinition" {
				continue
			}
			if err := c.awaitEstablished(ctx, object.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}

// CreateNode writes a Kubernetes Node object, as a kubelet would by registering. It may exist already.
func (c *Cluster) CreateNode(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if err := c.client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating node %s: %w", name, err)
	}
	return nil
}

// CreateNamespace writes a namespace, which may exist already.
func (c *Cluster) CreateNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, object *unstructured.Unstructured) error {
	configuration := client.ApplyConfigurationFromUnstructured(object)
	if err := c.client.Apply(ctx, configuration, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func (c *Cluster) awaitEstablished(ctx context.Context, name string) error {
	return poll(ctx, "kind "+name+" to be served", establishTimeout, func(ctx context.Context) error {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &definition); err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is not established: %v", definition.Status.Conditions)
	})
}

// readConfig returns the objects of config/<folder>: what kustomize renders, or else every manifest in the order of the names.
func (c *Cluster) readConfig(ctx context.Context, folder string) ([]*unstructured.Unstructured, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, "config", folder)
	if _, err := os.Stat(filepath.Join(path, "kustomization.yaml")); err == nil {
		rendered, err := c.Kubectl(ctx, "kustomize", path)
		if err != nil {
			return nil, err
		}
		return decodeManifests([]byte(rendered))
	}
	return readManifests(path)
}

func readManifests(folder string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading manifest: %w", err)
		}
		found, err := decodeManifests(content)
		if err != nil {
			return fmt.Errorf("reading manifest %s: %w", path, err)
		}
		objects = append(objects, found...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", folder, err)
	}
	return objects, nil
}

func decodeManifests(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		objects = append(objects, object)
	}
}
