package localcluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubectl runs kubectl as the administrator and returns what it printed on standard output. Its error carries what kubectl
// said on standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.kubectl(ctx, "", args)
}

// Apply gives the manifest to "kubectl apply" as the administrator, on the server's side of the webhooks and rules.
func (c *Cluster) Apply(ctx context.Context, manifest string) error {
	_, err := c.kubectl(ctx, manifest, []string{"apply", "-f", "-"})
	return err
}

// ApplySample gives a file of config/samples to "kubectl apply" as the administrator.
func (c *Cluster) ApplySample(ctx context.Context, name string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	_, err = c.kubectl(ctx, "", []string{"apply", "-f", filepath.Join(root, "config", "samples", name)})
	return err
}

// KubectlPath is the program that Kubectl runs.
func (c *Cluster) KubectlPath() string { return c.assets.kubectl }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.folder.join("admin.kubeconfig") }

func (c *Cluster) kubectl(ctx context.Context, input string, args []string) (string, error) {
	command := c.KubectlCommand(ctx, args...)
	var output, complaint strings.Builder
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &output, &complaint
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}

// KubectlCommand is a run of kubectl as the administrator that the caller starts, for one that takes long or is ended in the middle.
func (c *Cluster) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.assets.kubectl, append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...) //nolint:gosec // built here
}

func (c *Cluster) writeAdministrator(pair keyPair) error {
	return c.writeKubeconfig(c.Kubeconfig(), &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.certificate,
		ClientKeyData:         pair.key,
	})
}

func (c *Cluster) writeKubeconfig(path string, user *clientcmdapi.AuthInfo) error {
	const name = "streamshift"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.ca.pem}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
