package rebalance

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/load"
	"github.com/streamshift/streamshift/internal/placement"
	"github.com/streamshift/streamshift/internal/rebalance"
)

// maxCoolDown bounds the doubling of cool-downs.
const maxCoolDown = 24 * time.Hour

// world is the cluster that a plan is made of.
type world struct {
	now     time.Time
	nodes   []v1alpha1.StreamNode
	zones   map[string]string
	used    map[string]int
	streams []v1alpha1.Stream
	// busy are the streams that have a transfer that has not ended, by namespace/name.
	busy map[string]bool
	// coolDowns are what transfers of earlier plans gave their streams, by the transfer's UID.
	coolDowns map[types.UID]time.Duration
}

// observeWorld reads everything that a plan is made of. The objects are the cache's own: they must not be changed.
func (r *Reconciler) observeWorld(ctx context.Context) (*world, error) {
	w := &world{now: r.Now(), zones: map[string]string{}, used: map[string]int{}, busy: map[string]bool{}, coolDowns: map[types.UID]time.Duration{}}
	nodes := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	w.nodes = nodes.Items
	for i := range w.nodes {
		w.used[w.nodes[i].Name] = r.Slots.Usage(w.nodes[i].Name).Taken()
	}
	kubernetesNodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, kubernetesNodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Kubernetes nodes: %w", err)
	}
	for i := range kubernetesNodes.Items {
		w.zones[kubernetesNodes.Items[i].Name] = kubernetesNodes.Items[i].Labels[placement.LabelZone]
	}
	streams := &v1alpha1.StreamList{}
	if err := r.Client.List(ctx, streams, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing streams: %w", err)
	}
	w.streams = streams.Items
	open := &v1alpha1.StreamTransferList{}
	if err := r.Client.List(ctx, open, client.MatchingFields{transfers.OpenIndex: transfers.Open}); err != nil {
		return nil, fmt.Errorf("listing transfers: %w", err)
	}
	for i := range open.Items {
		w.busy[open.Items[i].Namespace+"/"+open.Items[i].Spec.Stream] = true
	}
	earlier := &v1alpha1.StreamTransferList{}
	if err := r.Client.List(ctx, earlier, client.MatchingLabels{v1alpha1.LabelCause: v1alpha1.CauseRebalance}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing earlier transfers: %w", err)
	}
	for i := range earlier.Items {
		w.coolDowns[earlier.Items[i].UID] = coolDownOf(&earlier.Items[i])
	}
	return w, nil
}

// makePlan is pure.
func makePlan(object *v1alpha1.StreamRebalance, w *world) (*plan, error) {
	selector := labels.Everything()
	if object.Spec.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(object.Spec.Selector); err != nil {
			return nil, fmt.Errorf("reading spec.selector: %w", err)
		}
	}
	p := &plan{}
	nodes, reports := p.nodesOf(object, w)
	rates := estimate(w.streams, reports)
	coolDown := rebalance.CoolDown{Base: seconds(object.Spec.CoolDownSeconds), Max: maxCoolDown}
	streams := make([]rebalance.Stream, 0, len(w.streams))
	byID := make(map[string]*v1alpha1.Stream, len(w.streams))
	for i := range w.streams {
		stream := &w.streams[i]
		id := keyOf(stream)
		byID[id] = stream
		streams = append(streams, rebalance.Stream{
			ID: id, Node: stream.Status.Node, Load: rebalance.Load(rates[id]), Selector: placement.Selector(stream.Spec.NodeSelector),
			Fixed: stream.Namespace != object.Namespace || !selector.Matches(labels.Set(stream.Labels)) || w.fixed(stream) ||
				coolDown.Left(w.last(stream)) > 0,
		})
	}
	made := rebalance.Make(nodes, streams, settingsOf(&object.Spec))
	p.Before, p.After, p.End = percent(made.Before), percent(made.After), made.End.String()
	for _, move := range made.Moves {
		stream := byID[move.Stream]
		p.Moves = append(p.Moves, v1alpha1.RebalanceMove{
			Stream: stream.Name, StreamUID: stream.UID, Source: move.Source, Target: move.Target, Epoch: stream.Status.Epoch,
			CoolDownSeconds: int32(coolDown.Next(w.last(stream)) / time.Second), //nolint:gosec // at most maxCoolDown
		})
	}
	p.trim()
	return p, nil
}

// nodesOf returns the nodes as a plan sees them, and their reports by name; it notes which take no full part.
func (p *plan) nodesOf(object *v1alpha1.StreamRebalance, w *world) ([]rebalance.Node, map[string]*load.Report) {
	health := make([]rebalance.Health, 0, len(w.nodes))
	reports := map[string]*load.Report{}
	for i := range w.nodes {
		node := &w.nodes[i]
		h := rebalance.Health{Node: node.Name, Unfit: condition.NodeUnfit(node), Selected: true}
		for label, value := range object.Spec.NodeSelector {
			h.Selected = h.Selected && node.Labels[label] == string(value)
		}
		if node.Status.StartedAt != nil {
			h.Running = w.now.Sub(node.Status.StartedAt.Time)
		}
		reports[node.Name] = reportOf(node.Status.Load)
		h.AppendTime = reports[node.Name].AppendTime
		health = append(health, h)
	}
	judged := rebalance.Judge(health, rebalance.HealthLimits{
		MinRunning: seconds(object.Spec.MinNodeAgeSeconds), SlowFactor: rebalance.DefaultSlowFactor, SlowFloor: rebalance.DefaultSlowFloor,
	})
	nodes := make([]rebalance.Node, 0, len(w.nodes))
	for i := range w.nodes {
		node := &w.nodes[i]
		if judged[i].Role != rebalance.GivesAndTakes {
			p.Excluded = append(p.Excluded, exclusion{Node: node.Name, Why: judged[i].Why})
		}
		zone := node.Labels[placement.LabelZone]
		if zone == "" {
			zone = w.zones[node.Name]
		}
		nodes = append(nodes, rebalance.Node{
			Name: node.Name, Slots: int(node.Spec.Slots), Used: w.used[node.Name], Role: judged[i].Role, Zone: zone, Labels: node.Labels,
		})
	}
	return nodes, reports
}

func keyOf(stream *v1alpha1.Stream) string { return stream.Namespace + "/" + stream.Name }

// fixed tells whether a stream stays, whatever the load: its place is written down, a drain would leave it, something else is
// under way, or it is not open.
func (w *world) fixed(stream *v1alpha1.Stream) bool {
	return stream.Spec.NodeName != "" || stream.Spec.DrainPolicy == v1alpha1.DrainStay || !stream.DeletionTimestamp.IsZero() ||
		stream.Status.PendingTransfer != nil || stream.Status.State != v1alpha1.StreamOpen || w.busy[keyOf(stream)]
}

// last is what is known of a stream's last transfer.
func (w *world) last(stream *v1alpha1.Stream) rebalance.Last {
	last := stream.Status.LastTransfer
	if last == nil {
		return rebalance.Last{Ago: math.MaxInt64}
	}
	return rebalance.Last{Ago: w.now.Sub(last.CommittedAt.Time), CoolDown: w.coolDowns[last.UID]}
}

// estimate returns the load of each stream by the reports of their nodes.
func estimate(streams []v1alpha1.Stream, reports map[string]*load.Report) map[string]load.Rate {
	owned := map[string][]string{}
	for i := range streams {
		owned[streams[i].Status.Node] = append(owned[streams[i].Status.Node], keyOf(&streams[i]))
	}
	rates := make(map[string]load.Rate, len(streams))
	for node, ids := range owned {
		if report := reports[node]; report != nil {
			maps.Copy(rates, load.Estimate(report, ids))
		}
	}
	return rates
}

func reportOf(status *v1alpha1.NodeLoad) *load.Report {
	report := &load.Report{}
	if status == nil {
		return report
	}
	report.Bytes, report.Requests = status.BytesPerSecond, status.RequestsPerSecond
	report.AppendTime = time.Duration(status.AppendMicros) * time.Microsecond
	for _, s := range status.Streams {
		report.Streams = append(report.Streams, load.Stream{Stream: s.Stream, Bytes: s.BytesPerSecond, Requests: s.RequestsPerSecond})
	}
	return report
}

func settingsOf(spec *v1alpha1.StreamRebalanceSpec) rebalance.Settings {
	settings := rebalance.Settings{
		Zones: rebalance.AcrossZones, Threshold: float64(spec.ThresholdPercent) / 100,
		MaxMoves: int(spec.MaxMoves), MaxMovesPerNode: int(spec.MaxMovesPerNode),
	}
	if spec.Zones == v1alpha1.ZoneKeep {
		settings.Zones = rebalance.WithinZones
	}
	switch spec.Strategy {
	case v1alpha1.RebalanceCount:
		settings.Weights = rebalance.Weights{Count: 1}
	case v1alpha1.RebalanceBytes:
		settings.Weights = rebalance.Weights{Bytes: 1}
	case v1alpha1.RebalanceRequests:
		settings.Weights = rebalance.Weights{Requests: 1}
	case v1alpha1.RebalanceWeighted:
		settings.Weights = rebalance.Weights{Bytes: 1, Requests: 1, Count: 1}
	}
	return settings
}

func seconds(count int32) time.Duration { return time.Duration(count) * time.Second }

// percent of a part, rounded; bounded, since a node without a fair share would have a distance without end.
func percent(part float64) int32 {
	const most = 1_000_000
	return int32(min(math.Round(100*part), most))
}
