package transfers

import (
	"strings"
	"testing"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestNamesFollowFromStreamEpochAndCause(t *testing.T) {
	long := strings.Repeat("x", 253)
	for _, c := range []struct{ stream, cause, want string }{
		{"orders", v1alpha1.CauseDrain, "orders-drain-7"},
		{"orders", v1alpha1.CauseTakeover, "orders-takeover-7"},
	} {
		if got := Name(c.stream, 7, c.cause); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	a, b := Name(long, 7, v1alpha1.CauseDrain), Name(long[:252]+"y", 7, v1alpha1.CauseDrain)
	if a == b || len(a) > 253 || !strings.HasSuffix(a, "-drain-7") {
		t.Errorf("long names: %d characters, %s, %s", len(a), a, b)
	}
}
