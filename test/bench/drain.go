package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	// loadedStreams of the drained ones have a writer and a reader along.
	loadedStreams = 4
	// drainPause is how long a writer rests: some hundred appends a second in all.
	drainPause = 50 * time.Millisecond
	// drainTurns is in how many parts a node is drained; rateDuration, for how long the rate of patches is measured between them.
	drainTurns   = 5
	rateDuration = 4 * time.Second
	drainTimeout = 5 * time.Minute
	// makersAtOnce make streams at the same time.
	makersAtOnce = 16
)

// drain is what is asked for.
type drain struct {
	streams int
	// profiles is the folder for profiles of the first drain; none are taken where it is empty.
	profiles string
}

// drainSetting is one drain that is measured.
type drainSetting struct {
	name string
	node string
	// managerArgs follow the manager's own.
	managerArgs []string
	// profiles are taken meanwhile where it is set.
	profiles *profiler
}

// drainResult is what one drain cost.
type drainResult struct {
	setting drainSetting
	streams int
	// left is how many of them left within the turns, which took so long; the others were under way when a turn ended.
	left int
	took time.Duration
	// patches is the API server's raw rate, in status patches a second, and registerPatches the same for objects with the schema, the
	// rules and the size of a Stream.
	patches, registerPatches float64
	// writes that the API server took for the drain, without leases, by what they were.
	writes map[string]int
	// processors is the processor time of each process, as lines of the table.
	processors string
	// window is each transfer's own, by the clocks of the nodes; appends are the latencies of the clients' appends meanwhile,
	// control those of appends right before.
	window, appends, control samples
	// steps are the parts of the transfers, by the clocks of those who wrote them.
	steps stepSamples
	tally load.Tally
}

func (r *drainResult) writesPerTransfer() float64 {
	all := 0
	for _, count := range r.writes {
		all += count
	}
	return float64(all) / float64(r.streams)
}

// rate is in streams a second; share is its part of what a raw rate of patches makes possible with the writes of this drain.
func (r *drainResult) rate() float64 { return float64(r.left) / r.took.Seconds() }
func (r *drainResult) share(patches float64) float64 {
	return r.rate() * r.writesPerTransfer() / patches
}

func (r *drainResult) table() string {
	p := func(s samples, share float64) string { return milliseconds(s.quantile(share)) }
	return fmt.Sprintf(`%s: %d of %d streams left node %s within %.1f s of turns
  %-58s %9.0f
  %-58s %9.0f
  %-58s %9.2f
  %-58s %9.0f
  %-58s %9.2f
  %-58s %9.1f
%s%s%s  %-58s %9s %9s
  %-58s %9s %9s
  %-58s %9s %9s
  %d appended, %d lost, %d duplicated, %d out of order, %d requests failed
`,
		r.setting.name, r.left, r.streams, r.setting.node, r.took.Seconds(),
		"streams a second", r.rate(),
		"floor: raw status patches a second", r.patches,
		"share of the floor: rate x writes a transfer / raw patches", r.share(r.patches),
		"raw status patches of objects like a Stream a second", r.registerPatches,
		"share of that rate", r.share(r.registerPatches),
		"writes a transfer", r.writesPerTransfer(), r.writesTable(), r.processors, r.steps.table(),
		"a stream's own window, ms: p50, p99", p(r.window, 0.5), p(r.window, 0.99),
		"clients' appends meanwhile, ms: p50, p99", p(r.appends, 0.5), p(r.appends, 0.99),
		"the same right before, ms: p50, p99", p(r.control, 0.5), p(r.control, 0.99),
		r.tally.Appended, r.tally.Lost, r.tally.Duplicated, r.tally.Reordered, r.tally.Failed)
}

// writesTable has a line for each kind of write, the most frequent first.
func (r *drainResult) writesTable() string {
	var out strings.Builder
	kinds := slices.SortedFunc(maps.Keys(r.writes), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.writes[b], r.writes[a]), cmp.Compare(a, b))
	})
	for _, kind := range kinds {
		fmt.Fprintf(&out, "    %-56s %9.2f\n", kind, float64(r.writes[kind])/float64(r.streams))
	}
	return out.String()
}

// measureDrains drains one node as fast as it goes and another one as fast as receivers bear.
func measureDrains(ctx context.Context, asked drain, progress io.Writer) (results []*drainResult, err error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: progress, Audit: localcluster.AuditWrites})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	names := []string{"node-a", "node-b", "node-c"}
	streamshift, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: names, Slots: asked.streams + 100})
	if err != nil {
		return nil, err
	}
	floor, err := newDrainFloor(ctx, cluster.Client())
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "Making %d streams on %s\n", asked.streams, names[0])
	if err := makeStreams(ctx, cluster.Client(), names[0], asked.streams); err != nil {
		return nil, err
	}
	var profiles *profiler
	if asked.profiles != "" {
		if profiles, err = newProfiler(ctx, cluster, asked.profiles); err != nil {
			return nil, err
		}
	}
	loaded := map[string]bool{}
	for _, setting := range []drainSetting{
		{name: "as fast as it goes", node: names[0], managerArgs: []string{"--drain-slow-after=0"}, profiles: profiles},
		{name: "paced by what receivers feel", node: names[1]},
	} {
		fmt.Fprintf(progress, "Draining %s, %s\n", setting.node, setting.name)
		result, err := measureDrain(ctx, cluster, streamshift, floor, setting, loaded)
		if err != nil {
			return results, fmt.Errorf("draining %s: %w", setting.node, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// makeStreams makes streams on the node, and leaves them free to go elsewhere.
func makeStreams(ctx context.Context, c client.Client, node string, count int) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	errs := make([]error, makersAtOnce)
	var makers sync.WaitGroup
	for maker := range makersAtOnce {
		makers.Go(func() {
			for i := maker; i < count && errs[maker] == nil; i += makersAtOnce {
				errs[maker] = makeStream(ctx, c, node, fmt.Sprintf("drained-%04d", i))
			}
		})
	}
	makers.Wait()
	return errors.Join(errs...)
}

func makeStream(ctx context.Context, c client.Client, node, name string) error {
	made := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node},
	}
	if err := c.Create(ctx, made); err != nil {
		return fmt.Errorf("making stream %s: %w", name, err)
	}
	for made.Status.State != v1alpha1.StreamOpen {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for stream %s to open: %w", name, err)
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return fmt.Errorf("reading stream %s: %w", name, err)
		}
	}
	if err := c.Patch(ctx, made, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"nodeName":null}}`))); err != nil {
		return fmt.Errorf("freeing stream %s: %w", name, err)
	}
	return nil
}

// pause waits, unless the context ends.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// drainRun is one drain as it is measured: in turns, with the floor measured between them, since the speed of a machine that is shared
// changes from one minute to the next.
type drainRun struct {
	cluster *localcluster.Cluster
	floor   *drainFloor
	setting drainSetting
	result  *drainResult
	// patches are the raw rates, measured before each turn and after the last; registerPatches those of objects like a Stream.
	patches, registerPatches []float64
	// used is the processor time of each process in all turns.
	used map[string]time.Duration
}

func measureDrain(
	ctx context.Context, cluster *localcluster.Cluster, streamshift *localcluster.Streamshift, floor *drainFloor, setting drainSetting,
	loaded map[string]bool,
) (*drainResult, error) {
	if err := streamshift.Manager.Reconfigure(ctx, setting.managerArgs...); err != nil {
		return nil, err
	}
	if err := cluster.AwaitReady(ctx); err != nil {
		return nil, err
	}
	owned, err := ownedBy(ctx, cluster.Client(), setting.node)
	if err != nil {
		return nil, err
	}
	result := &drainResult{setting: setting, streams: len(owned), writes: map[string]int{}}
	run := &drainRun{cluster: cluster, floor: floor, setting: setting, result: result, used: map[string]time.Duration{}}
	var loads []*load.Run
	owned = slices.DeleteFunc(owned, func(stream v1alpha1.Stream) bool { return loaded[stream.Name] }) // load wants an empty stream
	for _, stream := range owned[:min(loadedStreams, len(owned))] {
		loaded[stream.Name] = true
		loads = append(loads, load.Start(ctx, load.Options{
			URL:       streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream.Name,
			Producers: 1, Appenders: 1, Readers: 1, Pause: drainPause,
		}))
	}
	for turn := 1; turn <= drainTurns; turn++ {
		if err := run.takeTurn(ctx, loads, result.streams-result.streams*turn/drainTurns); err != nil {
			return nil, err
		}
	}
	if err := run.measureFloor(ctx); err != nil {
		return nil, err
	}
	result.patches, result.registerPatches = mean(run.patches), mean(run.registerPatches)
	result.processors = processorTable(run.used, result.streams)
	for _, load := range loads {
		tally, err := load.Stop(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w; failed requests: %v", err, load.Faults())
		}
		result.tally.Add(tally)
	}
	result.window, result.steps, err = windowsOf(ctx, cluster.Client(), setting.node)
	return result, err
}

func mean(values []float64) (sum float64) {
	for _, value := range values {
		sum += value / float64(len(values))
	}
	return sum
}

func (d *drainRun) measureFloor(ctx context.Context) error {
	plain, err := d.floor.plain.measure(ctx, rateDuration)
	if err != nil {
		return err
	}
	registers, err := d.floor.registers.measure(ctx, rateDuration)
	d.patches, d.registerPatches = append(d.patches, plain), append(d.registerPatches, registers)
	return err
}

// takeTurn measures the floor and what clients feel without a drain, and then drains the node until only so many streams remain. Where
// few are drained, no more do already: what was under way when the turn before ended goes on.
func (d *drainRun) takeTurn(ctx context.Context, loads []*load.Run, remaining int) error {
	owned, err := ownedBy(ctx, d.cluster.Client(), d.setting.node)
	if err != nil || len(owned) <= remaining {
		return err
	}
	if err := d.measureFloor(ctx); err != nil {
		return err
	}
	if err := pause(ctx, rateDuration); err != nil { // the clients' control window
		return err
	}
	used, err := processorTimes(d.cluster)
	if err != nil {
		return err
	}
	left, err := watchLeaving(ctx, d.cluster.Client(), d.setting.node)
	if err != nil {
		return err
	}
	defer left.stop()
	began := time.Now()
	if _, err := d.cluster.Kubectl(ctx, "cordon", d.setting.node); err != nil {
		return err
	}
	profiled := func() error { return nil }
	if d.setting.profiles != nil {
		profiled = d.setting.profiles.start(ctx)
	}
	if err := left.await(ctx, remaining); err != nil {
		return err
	}
	ended := time.Now()
	d.result.left, d.result.took = d.result.left+len(owned)-remaining, d.result.took+ended.Sub(began)
	for _, load := range loads {
		d.result.control = append(d.result.control, load.Latencies(began.Add(-rateDuration), began)...)
		d.result.appends = append(d.result.appends, load.Latencies(began, ended)...)
	}
	if _, err := d.cluster.Kubectl(ctx, "uncordon", d.setting.node); err != nil {
		return err
	}
	if err := awaitQuiet(ctx, d.cluster.Client(), d.setting.node); err != nil {
		return err
	}
	usedAfter, err := processorTimes(d.cluster)
	if err != nil {
		return err
	}
	for name := range usedAfter {
		d.used[name] += usedAfter[name] - used[name]
	}
	return errors.Join(profiled(), countWrites(d.result.writes, d.cluster, began, time.Now()))
}

func ownedBy(ctx context.Context, c client.Client, node string) ([]v1alpha1.Stream, error) {
	var list v1alpha1.StreamList
	if err := c.List(ctx, &list, client.MatchingFields{"status.node": node}); err != nil {
		return nil, fmt.Errorf("listing the streams of %s: %w", node, err)
	}
	return list.Items, nil
}

// leaving follows which streams a node owns.
type leaving struct {
	watcher watch.Interface
	owned   map[string]bool
}

func watchLeaving(ctx context.Context, c client.WithWatch, node string) (*leaving, error) {
	watcher, err := c.Watch(ctx, &v1alpha1.StreamList{}, client.MatchingFields{"status.node": node})
	if err != nil {
		return nil, fmt.Errorf("watching the streams of %s: %w", node, err)
	}
	return &leaving{watcher: watcher, owned: map[string]bool{}}, nil
}

func (l *leaving) stop() { l.watcher.Stop() }

// await returns once the node owns no more than so many streams, after it has owned more.
func (l *leaving) await(ctx context.Context, remaining int) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for before := 0; ; before = len(l.owned) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %d streams remain, %d do: %w", remaining, len(l.owned), context.Cause(ctx))
		case event, ok := <-l.watcher.ResultChan():
			stream, isStream := event.Object.(*v1alpha1.Stream)
			if !ok || !isStream {
				return fmt.Errorf("the watch of streams ended: %v", event.Object)
			}
			if event.Type == watch.Deleted { // it does not match any more
				delete(l.owned, stream.Name)
			} else {
				l.owned[stream.Name] = true
			}
		}
		if len(l.owned) < before && len(l.owned) <= remaining {
			return nil
		}
	}
}

// awaitQuiet waits until no stream is about to leave the node.
func awaitQuiet(ctx context.Context, c client.Client, node string) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		owned, err := ownedBy(ctx, c, node)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(owned, func(stream v1alpha1.Stream) bool { return stream.Status.PendingTransfer != nil }) {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for the transfers from %s: %w", node, err)
		}
	}
}

// countWrites adds the writes of the time given that a drain makes: all but leases, and the floor's own.
func countWrites(counts map[string]int, cluster *localcluster.Cluster, from, to time.Time) error {
	writes, err := cluster.Writes()
	if err != nil {
		return err
	}
	for _, write := range writes {
		if write.At.After(from) && write.At.Before(to) && write.Resource != "leases" && write.Group != floorGroup {
			user := write.User[strings.LastIndex(write.User, ":")+1:]
			counts[fmt.Sprintf("%s %s %s %d by %s", write.Verb, write.Resource, write.Subresource, write.Code, user)]++
		}
	}
	return nil
}

// stepSamples are the parts of transfers.
type stepSamples struct {
	stop, flush, commit, open samples
}

func (s *stepSamples) table() string {
	var out strings.Builder
	for _, step := range []struct {
		name    string
		samples samples
	}{
		{"accepted until the source stops, ms: p50, p99", s.stop}, {"stopped until it has flushed and closed", s.flush},
		{"closed until committed", s.commit}, {"committed until the target is open", s.open},
	} {
		fmt.Fprintf(&out, "    %-56s %9s %9s\n", step.name, milliseconds(step.samples.quantile(0.5)), milliseconds(step.samples.quantile(0.99)))
	}
	return out.String()
}

// windowsOf returns the window of each transfer of the node's drain, and its parts.
func windowsOf(ctx context.Context, c client.Client, node string) (windows samples, steps stepSamples, err error) {
	var list v1alpha1.StreamTransferList
	labels := client.MatchingLabels{v1alpha1.LabelCause: v1alpha1.CauseDrain, v1alpha1.LabelSourceNode: node}
	if err := c.List(ctx, &list, labels); err != nil {
		return nil, stepSamples{}, fmt.Errorf("listing the transfers of the drain: %w", err)
	}
	for i := range list.Items {
		status := &list.Items[i].Status
		if status.Window == nil || status.AcceptedAt == nil || status.ClosedAt == nil || status.CommittedAt == nil {
			continue // one that ended otherwise
		}
		windows.add(status.Window.Duration)
		steps.stop.add(status.StoppedAt.Sub(status.AcceptedAt.Time))
		steps.flush.add(status.ClosedAt.Sub(status.StoppedAt.Time))
		steps.commit.add(status.CommittedAt.Sub(status.ClosedAt.Time))
		steps.open.add(status.OpenedAt.Sub(status.CommittedAt.Time))
	}
	return windows, steps, nil
}

// judgeDrains returns an error for each limit that a drain does not keep.
func judgeDrains(results []*drainResult, limits limits) []error {
	var errs []error
	for i, result := range results {
		if share := result.share(result.registerPatches); i == 0 && share < limits.DrainRegisterShare {
			errs = append(errs, fmt.Errorf("the drain %s has %.2f of the rate of patches of objects like a Stream; the limit is %.2f",
				result.setting.name, share, limits.DrainRegisterShare))
		}
		if share := result.share(result.patches); i == 0 && share < limits.DrainShare {
			errs = append(errs, fmt.Errorf("the drain %s has %.2f of the floor's rate; the limit is %.2f, the aim 0.5",
				result.setting.name, share, limits.DrainShare))
		}
		if !result.tally.Clean() {
			errs = append(errs, fmt.Errorf("the tally of the drain %s is not clean: %+v", result.setting.name, result.tally))
		}
	}
	return errs
}
