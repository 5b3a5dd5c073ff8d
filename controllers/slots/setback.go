package slots

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
)

// ErrSetBack tells that the API server has an older version of a stream than it has shown before: etcd was restored from a backup.
var ErrSetBack = errors.New("streams were set back to what they were: etcd was restored from a backup")

const (
	// setBackLook is how often it is looked for streams that were set back. What is found twice is asked for.
	setBackLook = 5 * time.Second
	// setBackAtOnce bounds how many are asked for at a time: one that was set back is proof enough.
	setBackAtOnce = 10
)

// Watchdog ends the process that remembers what never happened. A restore of etcd leaves every object the version that it had, so
// that the process would take all of them for views that are behind its own writes, for as long as it lives. Started anew, it knows
// what there is.
type Watchdog struct {
	Ledger *Ledger
	Live   client.Reader

	// before are the streams that the look before found.
	before map[*v1alpha1.Stream]bool
}

// NeedLeaderElection tells that every replica has one.
func (*Watchdog) NeedLeaderElection() bool { return false }

// Start looks until ctx ends, or returns ErrSetBack.
func (w *Watchdog) Start(ctx context.Context) error {
	tick := time.NewTicker(setBackLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := w.look(ctx); err != nil {
			return err
		}
	}
}

// look asks the API server for what was behind at the look before, too. A fresh answer that is older than what was known before
// the question is proof.
func (w *Watchdog) look(ctx context.Context) error {
	behind, asked := map[*v1alpha1.Stream]bool{}, 0
	for _, known := range w.Ledger.behind() {
		behind[known] = true
		if !w.before[known] || asked >= setBackAtOnce {
			continue
		}
		asked++
		if err := w.ask(ctx, known); err != nil {
			return err
		}
	}
	w.before = behind
	return nil
}

func (w *Watchdog) ask(ctx context.Context, known *v1alpha1.Stream) error {
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	fresh := &v1alpha1.Stream{}
	switch err := w.Live.Get(ctx, client.ObjectKeyFromObject(known), fresh); {
	case apierrors.IsNotFound(err), err == nil && fresh.UID != known.UID:
		w.Ledger.Forget(known.UID)
	case err != nil: // the next look asks again
	case register.Newer(known, fresh):
		return fmt.Errorf("%w (stream %s/%s)", ErrSetBack, known.Namespace, known.Name)
	default:
		w.Ledger.Answer(fresh)
	}
	return nil
}

// behind returns the versions counted of the streams of which an older one was delivered last.
func (l *Ledger) behind() []*v1alpha1.Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*v1alpha1.Stream
	for uid := range l.setBack {
		all = append(all, l.streams[uid])
	}
	return all
}
