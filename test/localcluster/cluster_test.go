package localcluster

import (
	"strings"
	"testing"
)

func TestClusterServesAndStops(t *testing.T) {
	cluster, err := Start(t.Context(), Options{Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	version, err := cluster.Kubectl(t.Context(), "version")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(version, "Server Version: v1.") {
		t.Errorf("kubectl version printed no server version:\n%s", version)
	}
	processes := cluster.Processes()
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		if process.Alive() {
			t.Errorf("%s runs after Stop", process.Name())
		}
	}
}

func TestInstallServesTheKinds(t *testing.T) {
	cluster, err := Start(t.Context(), Options{Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Install(t.Context(), "crd"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.CreateNode(t.Context(), "node-a"); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Kubectl(t.Context(), "get", "streams,streamnodes,streamtransfers,nodes"); err != nil {
		t.Fatal(err)
	}
}
