package session

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
)

func TestStreamsAreTrimmedToTheirRetention(t *testing.T) {
	bytes := int64(10)
	tests := map[string]struct {
		retention *v1alpha1.Retention
		wantStart engine.Offset
	}{
		"without one nothing is trimmed":                        {nil, 0},
		"an empty one keeps everything":                         {&v1alpha1.Retention{}, 0},
		"by bytes":                                              {&v1alpha1.Retention{Bytes: &bytes}, 20},
		"by age, nothing is old":                                {&v1alpha1.Retention{Age: &metav1.Duration{Duration: time.Hour}}, 0},
		"by age, a record that was there at an earlier look is": {&v1alpha1.Retention{Age: &metav1.Duration{Duration: time.Nanosecond}}, 30},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			h := newHarness(t)
			log := h.situation().Log
			for _, text := range []string{"0123456789", "0123456789", "0123456789"} {
				if _, err := log.Append(t.Context(), engine.Append{Messages: [][]byte{[]byte(text)}}); err != nil {
					t.Fatal(err)
				}
			}
			stream := &v1alpha1.Stream{}
			if err := h.server.Get(t.Context(), h.key, stream); err != nil {
				t.Fatal(err)
			}
			stream.Spec.Retention = test.retention
			if err := h.server.Update(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			h.see()
			h.node.retain(t.Context())
			if test.wantStart > 0 { // by age only once the first look was a while ago
				h.until("the stream is trimmed", func() bool {
					h.node.retain(t.Context())
					return log.Info().Start >= test.wantStart
				})
			}
			if got := log.Info().Start; got != test.wantStart {
				t.Errorf("the stream starts at %d, want %d", got, test.wantStart)
			}
		})
	}
}
