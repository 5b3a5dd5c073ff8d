package transfers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

func TestATransferIsMadeOnceThoughTheWatchIsBehind(t *testing.T) {
	now := time.Unix(1000, 0)
	creates := 0
	var refusal error
	validate := func(context.Context, *v1alpha1.StreamTransfer) error { return refusal }
	maker := &Maker{Now: func() time.Time { return now }, Validate: validate, Client: interceptor.NewClient(nil, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			creates++
			return nil
		},
	})}
	move := &Move{Stream: v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orders"}, Status: v1alpha1.StreamStatus{Node: "a", Epoch: 7}}, Target: "b", Cause: v1alpha1.CauseDrain}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {retryAfter - 1, 1}, {1, 2}} {
		now = now.Add(step.after)
		if err := maker.Make(t.Context(), move); err != nil {
			t.Fatal(err)
		}
		if creates != step.want {
			t.Errorf("%v later it was asked for %d times, want %d", step.after, creates, step.want)
		}
	}
	move.Stream.Status.Epoch = 8
	if err := maker.Make(t.Context(), move); err != nil || creates != 3 {
		t.Errorf("the next epoch's transfer: %v, asked for %d times", err, creates)
	}
	move.Stream.Status.Epoch = 9
	refusal = apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	if err := maker.Make(t.Context(), move); err != nil || creates != 3 {
		t.Errorf("one that would be refused: %v, asked for %d times", err, creates)
	}
	refusal = errors.New("the cache has not started")
	if err := maker.Make(t.Context(), move); !errors.Is(err, refusal) || creates != 3 {
		t.Errorf("one that cannot be judged: %v, asked for %d times", err, creates)
	}
}
