package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/streamshift/streamshift/test/bed"
	"github.com/streamshift/streamshift/test/localcluster"
)

// fault is one thing that goes wrong for a while. It ends with everything as before.
type fault struct {
	name string
	do   func(ctx context.Context, random *rand.Rand) error
}

// processFaults end and pause processes, one after the other.
func (s *storm) processFaults(ctx context.Context, random *rand.Rand) error {
	return s.goWrong(ctx, random, []fault{
		{"node killed", func(_ context.Context, random *rand.Rand) error { return kill(s.anyNode(random).Process) }},
		{"node killed", func(_ context.Context, random *rand.Rand) error { return kill(s.anyNode(random).Process) }},
		{"manager killed", func(context.Context, *rand.Rand) error { return kill(s.bed.Manager) }},
		{"gateway killed", func(context.Context, *rand.Rand) error { return kill(s.bed.Gateway) }},
		{"node paused", func(ctx context.Context, random *rand.Rand) error {
			return paused(ctx, s.anyNode(random).Process, s.length(random, 1, 30))
		}},
		{"node paused", func(ctx context.Context, random *rand.Rand) error {
			return paused(ctx, s.anyNode(random).Process, s.length(random, 1, 30))
		}},
		{"manager paused", func(ctx context.Context, random *rand.Rand) error {
			return paused(ctx, s.bed.Manager, s.length(random, 1, 30))
		}},
		{"clock of a node set wrong", func(ctx context.Context, random *rand.Rand) error {
			return s.clockWrong(ctx, s.anyNode(random).Process, random)
		}},
		{"clock of the manager set wrong", func(ctx context.Context, random *rand.Rand) error {
			return s.clockWrong(ctx, s.bed.Manager, random)
		}},
		{"API server paused", func(ctx context.Context, random *rand.Rand) error {
			return paused(ctx, s.bed.Cluster.APIServer(), s.outage(random))
		}},
		{"API server restarted", func(ctx context.Context, _ *rand.Rand) error {
			server := s.bed.Cluster.APIServer()
			if err := server.Kill(); err != nil {
				return err //nolint:wrapcheck // says what it was doing
			}
			return server.Start(context.WithoutCancel(ctx)) //nolint:wrapcheck // as above
		}},
		{"etcd slow", func(ctx context.Context, random *rand.Rand) error {
			for range 10 + random.IntN(20) {
				if err := paused(ctx, s.bed.Cluster.Etcd(), time.Duration(50+random.IntN(350))*time.Millisecond); err != nil {
					return err
				}
				rest(ctx, time.Duration(20+random.IntN(80))*time.Millisecond)
			}
			return nil
		}},
	})
}

// waysFaults have stores do wrong and cut nodes off, one after the other.
func (s *storm) waysFaults(ctx context.Context, random *rand.Rand) error {
	store := func(f bed.Faults) func(context.Context, *rand.Rand) error {
		return func(ctx context.Context, random *rand.Rand) error {
			nodes := s.allNodes()
			if random.IntN(2) == 0 {
				nodes = []*bed.Node{s.anyNode(random)}
			}
			err := setFaults(nodes, f)
			rest(ctx, s.length(random, 1, 10))
			return errors.Join(err, setFaults(nodes, bed.Faults{}))
		}
	}
	return s.goWrong(ctx, random, []fault{
		{"store slow", store(bed.Faults{Slow: 1000})},
		{"store failing", store(bed.Faults{Fail: 0.5})},
		{"store away", store(bed.Faults{Fail: 1})},
		{"store applies and answers with an error", store(bed.Faults{Applied: 0.4})},
		{"store applies late and answers with an error", store(bed.Faults{Late: 0.3, LateBy: 8000, Slow: 50})},
		{"node cut off from the API server", func(ctx context.Context, random *rand.Rand) error {
			node := s.anyNode(random)
			node.ToAPIServer.Cut()
			rest(ctx, s.length(random, 2, 30))
			node.ToAPIServer.Mend()
			return nil
		}},
		{"node cut off from clients", func(ctx context.Context, random *rand.Rand) error {
			node := s.anyNode(random)
			node.ToNode.Cut()
			rest(ctx, s.length(random, 1, 15))
			node.ToNode.Mend()
			return nil
		}},
	})
}

// goWrong has one fault after the other, with pauses.
func (s *storm) goWrong(ctx context.Context, random *rand.Rand, faults []fault) error {
	for rest(ctx, time.Duration(200+random.IntN(3000))*time.Millisecond) {
		f := faults[random.IntN(len(faults))]
		began := time.Now()
		if err := f.do(ctx, random); err != nil {
			return fmt.Errorf("having %s: %w", f.name, err)
		}
		s.tally.add("faults", f.name, 1)
		fmt.Fprintf(s.out, "%s %s for %s\n", began.Format("15:04:05.000"), f.name, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

func (s *storm) anyNode(random *rand.Rand) *bed.Node {
	return s.bed.Nodes[nodeNames[random.IntN(len(nodeNames))]]
}

func (s *storm) allNodes() []*bed.Node {
	all := make([]*bed.Node, 0, len(nodeNames))
	for _, name := range nodeNames {
		all = append(all, s.bed.Nodes[name])
	}
	return all
}

// clockWrong sets a process's clock up to an hour forwards or back, and right again after a while: two jumps.
func (s *storm) clockWrong(ctx context.Context, process *localcluster.Process, random *rand.Rand) error {
	most := []time.Duration{5 * time.Second, time.Minute, time.Hour}
	wrongBy := time.Duration((2*random.Float64() - 1) * float64(most[random.IntN(len(most))]))
	pid := process.PID()
	if err := s.bed.SetClock(pid, wrongBy); err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	rest(ctx, s.length(random, 1, 20))
	return s.bed.SetClock(pid, 0) //nolint:wrapcheck // as above
}

// longestShare is which share of the run one fault takes at most.
const longestShare = 8

// length is a random number of seconds in a range, but no large share of the run.
func (s *storm) length(random *rand.Rand, least, most float64) time.Duration {
	length := time.Duration((least + random.Float64()*(most-least)) * float64(time.Second))
	return min(length, s.duration/longestShare)
}

// outage is how long the API server is away: 12, 30 or 90 seconds, as the length of the run allows.
func (s *storm) outage(random *rand.Rand) time.Duration {
	lengths := []time.Duration{12 * time.Second}
	if s.duration >= 10*time.Minute {
		lengths = append(lengths, 30*time.Second)
	}
	if s.duration >= 20*time.Minute {
		lengths = append(lengths, 90*time.Second)
	}
	return lengths[random.IntN(len(lengths))]
}

func setFaults(nodes []*bed.Node, f bed.Faults) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.SetFaults(f))
	}
	return errors.Join(errs...)
}

// kill ends a process as by the kernel; the cluster starts it again.
func kill(process *localcluster.Process) error {
	err := syscall.Kill(process.PID(), syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing %s: %w", process.Name(), err)
	}
	return nil
}

func paused(ctx context.Context, process *localcluster.Process, length time.Duration) error {
	if err := process.Pause(); err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	rest(ctx, length)
	return process.Resume() //nolint:wrapcheck // as above
}
