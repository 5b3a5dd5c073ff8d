package localcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCluster(t *testing.T) {
	cluster, err := Start(t.Context(), Options{Audit: AuditWrites, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("kubectl reaches the API server, which knows its version", func(t *testing.T) {
		version, err := cluster.Kubectl(t.Context(), "version")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(version, "Server Version: v1.") {
			t.Errorf("kubectl version printed no server version:\n%s", version)
		}
	})
	t.Run("what kubectl complains of is in the error", func(t *testing.T) {
		_, err := cluster.Kubectl(t.Context(), "get", "node/nobody")
		if err == nil || !strings.Contains(err.Error(), `nodes "nobody" not found`) {
			t.Errorf("reading a missing node gives %v", err)
		}
	})
	t.Run("installed kinds are served", func(t *testing.T) {
		if err := cluster.Install(t.Context(), "crd"); err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Kubectl(t.Context(), "get", "streams,streamnodes,streamtransfers,streamrebalances"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a node's token carries the node's name", func(t *testing.T) { testNodeToken(t, cluster) })
	t.Run("the audit log tells every write", func(t *testing.T) { testWrites(t, cluster) })

	processes := cluster.Processes()
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if process.Alive() {
			t.Errorf("%s runs after Stop", process.Name())
		}
	}
	if _, err := os.Stat(cluster.Folder()); err == nil {
		t.Errorf("folder %s is there after Stop", cluster.Folder())
	}
}

func testNodeToken(t *testing.T, cluster *Cluster) {
	t.Helper()
	if err := cluster.CreateNamespace(t.Context(), SystemNamespace); err != nil {
		t.Fatal(err)
	}
	if err := cluster.CreateNode(t.Context(), "node-a"); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := cluster.AccountKubeconfig(t.Context(), NodeAccount, "node-a")
	if err != nil {
		t.Fatal(err)
	}
	const names = `jsonpath={.status.userInfo.username} on {.status.userInfo.extra.authentication\.kubernetes\.io/node-name[0]}`
	who, err := cluster.Kubectl(t.Context(), "--kubeconfig="+kubeconfig, "auth", "whoami", "-o", names)
	if err != nil {
		t.Fatal(err)
	}
	if want := "system:serviceaccount:streamshift-system:streamshift-node on node-a"; who != want {
		t.Errorf("the API server sees %q, want %q", who, want)
	}
	if _, err := cluster.Kubectl(t.Context(), "--kubeconfig="+kubeconfig, "get", "secrets"); err == nil {
		t.Error("a node agent may read secrets")
	}
}

func testWrites(t *testing.T, cluster *Cluster) {
	t.Helper()
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: noted, namespace: default}}`
	for range 2 { // the second changes nothing and is no write
		if err := cluster.Apply(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.Kubectl(t.Context(), "delete", "configmap/noted", "--wait=false"); err != nil {
		t.Fatal(err)
	}
	writes, err := cluster.Writes()
	if err != nil {
		t.Fatal(err)
	}
	var got []Write
	for _, write := range writes {
		if write.Resource == "configmaps" && write.Name == "noted" {
			got = append(got, write)
		}
	}
	noted := Write{User: "administrator", Resource: "configmaps", Namespace: "default", Name: "noted"}
	create, remove := noted, noted
	create.Verb, create.Code = "create", 201
	remove.Verb, remove.Code = "delete", 200
	if difference := cmp.Diff([]Write{create, remove}, got, cmpopts.IgnoreFields(Write{}, "At")); difference != "" {
		t.Errorf("writes differ (-want +got):\n%s", difference)
	}
}

// TestFailedStartLeavesNothing lets etcd start, and the API server end at once.
func TestFailedStartLeavesNothing(t *testing.T) {
	whole, err := buildAssets(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	for name, target := range map[string]string{"etcd": whole.etcd, "kubectl": whole.kubectl} {
		if err := os.Symlink(target, filepath.Join(broken, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := []byte("#!/bin/sh\necho this API server has no wish to run\nexit 1\n")
	if err := os.WriteFile(filepath.Join(broken, "kube-apiserver"), script, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", broken)
	t.Setenv("TMPDIR", t.TempDir())

	_, err = Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "no wish to run") {
		t.Errorf("the start gives %v, want the end of the API server's log", err)
	}
	if running := processesNaming(t, broken); len(running) > 0 {
		t.Errorf("processes are left: %v", running)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPattern)); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

// processesNaming returns the command lines of all processes whose arguments name the folder.
func processesNaming(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("reading the processes of this machine from /proc: %d found, error %v", len(files), err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), folder) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
