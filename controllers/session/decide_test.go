package session

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	past, future := now.Add(-time.Second), now.Add(time.Second)
	stream := func(change func(*v1alpha1.Stream)) *v1alpha1.Stream {
		s := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{v1alpha1.FinalizerLog}}, Status: v1alpha1.StreamStatus{Node: "me", Epoch: 2, State: v1alpha1.StreamOpen}}
		if change != nil {
			change(s)
		}
		return s
	}
	deleting := func(s *v1alpha1.Stream) { s.DeletionTimestamp = &metav1.Time{Time: now} }
	elsewhere := func(s *v1alpha1.Stream) { s.Status.Node = "other" }
	open := handoff.Session{Phase: handoff.SessionOpen, Epoch: 2}
	opening := func(s *v1alpha1.Stream) { s.Status.State = v1alpha1.StreamOpening }
	told := func(s *v1alpha1.Stream) {
		s.Status.State = v1alpha1.StreamOpening
		s.Status.Conditions = condition.Merge(nil, 1, metav1.Time{}, condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonCannotOpen, ""))
	}
	mayOpen, failed := handoff.Session{MayOpen: 2}, errors.New("the object store refuses")
	for name, c := range map[string]struct {
		view view
		want string
	}{
		"a stream that serves":                       {view{stream: stream(nil), session: open, involved: true}, "Wait"},
		"one whose time is over expires":             {view{stream: stream(nil), session: open, involved: true, expiresAt: &past}, "Expire"},
		"one whose time is not over does not":        {view{stream: stream(nil), session: open, involved: true, expiresAt: &future}, "Wait"},
		"a deleted stream's log is removed":          {view{stream: stream(deleting), session: open, involved: true}, "RemoveLog"},
		"after it was opened to say so":              {view{stream: stream(deleting), involved: true}, "Reopen"},
		"unless the log says so already":             {view{stream: stream(deleting), involved: true, deleted: true}, "RemoveLog"},
		"not twice at a time":                        {view{stream: stream(deleting), involved: true, deleted: true, removing: true}, "Wait"},
		"then the object is let go":                  {view{stream: stream(deleting), involved: true, deleted: true, removed: true}, "ReleaseObject"},
		"a log that says deleted deletes the object": {view{stream: stream(nil), involved: true, deleted: true}, "Expire"},
		"a stream that was placed here is opened":    {view{stream: stream(opening), session: mayOpen, involved: true}, "Open"},
		"where that fails for a while it is told":    {view{stream: stream(opening), session: mayOpen, involved: true, cannotOpen: failed}, "TellCannotOpen"},
		"not again at once":                          {view{stream: stream(opening), session: mayOpen, involved: true, openAfter: future}, "Wait"},
		"once, and tried again":                      {view{stream: stream(told), session: mayOpen, involved: true, cannotOpen: failed}, "Open"},
		"a stream that is gone is forgotten":         {view{stream: stream(nil), session: open, involved: true, gone: true}, "Forget"},
		"one that just went elsewhere is remembered": {view{stream: stream(elsewhere)}, "Wait"},
		"one that went a while ago is not":           {view{stream: stream(elsewhere), forgettable: true}, "Forget"},
		"a session that is not ours is dropped":      {view{stream: stream(elsewhere), session: open, forgettable: true}, "Drop"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide("me", &c.view, now)
			if d.String() != c.want || d.reason == "" {
				t.Errorf("got %s because %q, want %s", d, d.reason, c.want)
			}
		})
	}
}
