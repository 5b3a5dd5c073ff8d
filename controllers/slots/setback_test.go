package slots

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// TestWatchdog: an older version that is delivered proves nothing, since a watch may be behind; that the API server has no newer
// one does.
func TestWatchdog(t *testing.T) {
	named := func(resourceVersion string) *v1alpha1.Stream {
		s := version("s", resourceVersion, "a", "")
		s.Namespace, s.Name = "default", "orders"
		return s
	}
	tests := map[string]struct {
		server    *v1alpha1.Stream
		delivered []*v1alpha1.Stream
		want      error
	}{
		"the watch is in time":                     {server: named("300"), delivered: []*v1alpha1.Stream{named("200"), named("300")}},
		"the watch is behind":                      {server: named("300"), delivered: []*v1alpha1.Stream{named("300"), named("200")}},
		"the watch is behind, and there is more":   {server: named("400"), delivered: []*v1alpha1.Stream{named("300"), named("200")}},
		"the stream is gone":                       {delivered: []*v1alpha1.Stream{named("300"), named("200")}},
		"etcd was restored":                        {server: named("200"), delivered: []*v1alpha1.Stream{named("300"), named("200")}, want: ErrSetBack},
		"etcd was restored, and then it went on":   {server: named("1000"), delivered: []*v1alpha1.Stream{named("300"), named("200"), named("1000")}},
		"it was restored with another of the name": {server: another(named("200")), delivered: []*v1alpha1.Stream{named("300"), named("200")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			server := fake.NewClientBuilder().WithScheme(scheme)
			if tt.server != nil {
				server = server.WithObjects(tt.server)
			}
			w := &Watchdog{Ledger: NewLedger(), Live: server.Build()}
			for _, stream := range tt.delivered {
				w.Ledger.Observe(stream)
			}
			if err := w.look(t.Context()); err != nil {
				t.Errorf("the first look returns %v: a watch has no time to catch up", err)
			}
			if err := w.look(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("the second look returns %v, want %v", err, tt.want)
			}
			if behind := w.Ledger.behind(); tt.want == nil && len(behind) > 0 {
				t.Errorf("%d streams are still asked for", len(behind))
			}
		})
	}
}

func another(stream *v1alpha1.Stream) *v1alpha1.Stream {
	stream.ObjectMeta = metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name, UID: "another", ResourceVersion: stream.ResourceVersion}
	return stream
}
