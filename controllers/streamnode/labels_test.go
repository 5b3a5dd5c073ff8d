package streamnode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStreamNodeGetsTheLabelsPeopleChooseNodesBy(t *testing.T) {
	labels := map[string]string{"topology.kubernetes.io/zone": "z1", "kubernetes.io/arch": "arm64", "team.example.com/secret": "x"}
	want := map[string]any{"topology.kubernetes.io/zone": "z1", "kubernetes.io/arch": "arm64"}
	if diff := cmp.Diff(want, wantedLabels(labels, DefaultLabels())); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
