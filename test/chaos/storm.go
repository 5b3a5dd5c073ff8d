package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/test/bed"
	"github.com/streamshift/streamshift/test/history"
)

const (
	namespace = "default"
	// patience bounds the waits before and after: every process is well then.
	patience = 2 * time.Minute
	between  = 20 * time.Millisecond
	// callTimeout bounds one call of the API server, which may be away.
	callTimeout = 5 * time.Second
)

var nodeNames = []string{"node-a", "node-b", "node-c"}

// storm is one run.
type storm struct {
	options

	bed        *bed.Bed
	streams    []string
	recordings []*history.Recording
	registers  *registers
	tally      *tally
}

// begin starts everything, makes the streams and has clients at work on each.
func begin(ctx context.Context, o options) (*storm, error) {
	b, err := bed.Start(ctx, bed.Options{
		Nodes: nodeNames, Ways: bed.Cuttable,
		// Short times, so that much happens: a node that is away for longer than a few seconds is taken over.
		ManagerArgs: []string{"--node-lease-duration=6s", "--takeover-after=2s", "--open-within=8s"},
		NodeArgs:    []string{"--lease-duration=5s", "--lease-renew-interval=1s"},
		Progress:    os.Stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("starting a bed: %w", err)
	}
	s := &storm{options: o, bed: b, tally: newTally()}
	for i := range o.streams {
		s.streams = append(s.streams, fmt.Sprintf("chaos-%d", i))
	}
	if err := s.makeStreams(ctx); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	s.registers = watchRegisters(ctx, b.Cluster.Client())
	for _, name := range s.streams {
		s.recordings = append(s.recordings, history.Start(ctx, history.Options{
			URL:       b.Gateway.URL() + "/v1/stream/" + namespace + "/" + name,
			Producers: 1, Appenders: 1, Followers: 1, Samplers: 1, Pause: o.pause,
		}))
	}
	return s, nil
}

func (s *storm) makeStreams(ctx context.Context) error {
	for _, name := range s.streams {
		stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := s.bed.Cluster.Client().Create(ctx, stream); err != nil {
			return fmt.Errorf("making stream %s: %w", name, err)
		}
	}
	return await(ctx, "the streams to be served", s.served)
}

// served tells whether every stream is open and none is being transferred.
func (s *storm) served(ctx context.Context) error {
	for _, name := range s.streams {
		stream := &v1alpha1.Stream{}
		if err := s.bed.Cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stream); err != nil {
			return fmt.Errorf("reading stream %s: %w", name, err)
		}
		if stream.Status.PendingTransfer != nil || !condition.IsTrue(stream.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("the status of stream %s is %+v", name, stream.Status)
		}
	}
	return nil
}

// disturb has fate and users at work for the duration of the run. Each has its own share of the seed.
func (s *storm) disturb(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	var all sync.WaitGroup
	errs := make(chan error, 8) // more than there are
	for i, disturb := range []func(context.Context, *rand.Rand) error{
		s.processFaults, s.waysFaults, s.transfers, s.transfers, s.drains,
	} {
		random := rand.New(rand.NewPCG(s.seed, uint64(i))) //nolint:gosec // repeatable on purpose
		all.Go(func() { errs <- disturb(ctx, random) })
	}
	all.Wait()
	close(errs)
	var joined error
	for err := range errs {
		joined = errors.Join(joined, err)
	}
	return joined
}

// rest waits, and returns false where the run is over.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func await(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		call, done := context.WithTimeout(ctx, callTimeout)
		err := check(call)
		done()
		if err == nil {
			return nil
		}
		if !rest(ctx, between) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// keepLogs copies the logs of every process to a folder that stays, and returns its path.
func (s *storm) keepLogs() string {
	folder, err := os.MkdirTemp("", fmt.Sprintf("chaos-%d-*", s.seed))
	if err != nil {
		return err.Error()
	}
	for _, process := range s.bed.Cluster.Processes() {
		content, err := process.Log()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, process.Name()+".log"), []byte(content), 0o600)
		}
		if err != nil {
			return err.Error()
		}
	}
	return folder
}
