package fleet

import (
	"context"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams;streamnodes;streamrebalances,verbs=get;list;watch

// readTimeout bounds one look at the cache, which waits for nothing but the cache's first filling.
const readTimeout = 5 * time.Second

// Collector counts when it is asked. Every replica of the manager tells the same: take the maximum of them.
type Collector struct {
	// Client reads the manager's cache.
	Client client.Reader
	Log    logr.Logger

	ready, slots, owned, inbound, notReady, rebalances *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a collector, for a registry.
func New(reader client.Reader, log logr.Logger) *Collector {
	node := []string{"node"}
	return &Collector{
		Client: reader, Log: log,
		ready:   prometheus.NewDesc("streamshift_fleet_node_ready", "Whether a node is ready: 1 where it is.", node, nil),
		slots:   prometheus.NewDesc("streamshift_fleet_node_slots", "Streams that a node may hold.", node, nil),
		owned:   prometheus.NewDesc("streamshift_fleet_node_streams", "Streams that a node owns.", node, nil),
		inbound: prometheus.NewDesc("streamshift_fleet_node_inbound_transfers", "Pending transfers to a node.", node, nil),
		notReady: prometheus.NewDesc("streamshift_fleet_not_ready_streams",
			"Streams that no node serves, by the reason of their condition Ready.", []string{"reason"}, nil),
		rebalances: prometheus.NewDesc("streamshift_fleet_rebalances",
			"Rebalances, by the phase of their latest plan and by whether they have a schedule.", []string{"phase", "scheduled"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{c.ready, c.slots, c.owned, c.inbound, c.notReady, c.rebalances} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector. Where the cache cannot be read it tells nothing: no number is better than a wrong one.
func (c *Collector) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var nodes v1alpha1.StreamNodeList
	if err := c.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		c.Log.Error(err, "Cannot read nodes for metrics")
		return
	}
	var streams v1alpha1.StreamList
	if err := c.Client.List(ctx, &streams, client.UnsafeDisableDeepCopy); err != nil {
		c.Log.Error(err, "Cannot read streams for metrics")
		return
	}
	var rebalances v1alpha1.StreamRebalanceList
	if err := c.Client.List(ctx, &rebalances, client.UnsafeDisableDeepCopy); err != nil {
		c.Log.Error(err, "Cannot read rebalances for metrics")
		return
	}
	owned, inbound := map[string]int{}, map[string]int{}
	notReady := map[string]int{v1alpha1.ReasonCannotOpen: 0, v1alpha1.ReasonNoEligibleNode: 0} // what alerts look for is always there
	for i := range streams.Items {
		status := &streams.Items[i].Status
		if status.Node != "" {
			owned[status.Node]++
		}
		if status.PendingTransfer != nil {
			inbound[status.PendingTransfer.Target]++
		}
		if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != "True" {
			notReady[ready.Reason]++
		}
	}
	gauge := func(description *prometheus.Desc, value int, labels ...string) {
		into <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(value), labels...)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		ready := 0
		if meta.IsStatusConditionTrue(node.Status.Conditions, v1alpha1.ConditionReady) {
			ready = 1
		}
		gauge(c.ready, ready, node.Name)
		gauge(c.slots, int(node.Spec.Slots), node.Name)
		gauge(c.owned, owned[node.Name], node.Name)
		gauge(c.inbound, inbound[node.Name], node.Name)
	}
	for reason, count := range notReady {
		gauge(c.notReady, count, reason)
	}
	type kind struct{ phase, scheduled string }
	counts := map[kind]int{}
	for i := range rebalances.Items {
		r := &rebalances.Items[i]
		counts[kind{string(r.Status.Phase), strconv.FormatBool(r.Spec.Schedule != "")}]++
	}
	for k, count := range counts {
		gauge(c.rebalances, count, k.phase, k.scheduled)
	}
}
