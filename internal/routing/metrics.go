package routing

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// Results of a parked request, as the label "result" of the metric says them.
const (
	parkedServed  = "served"
	parkedSentOn  = "sent_on"
	parkedTimeout = "timeout"
	parkedGone    = "client_gone"
	parkedOther   = "other"
)

// Metrics count what a node's front decides.
type Metrics struct {
	parkedNow prometheus.GaugeFunc
	bodyBytes prometheus.GaugeFunc
	parked    *prometheus.CounterVec
	sentOn    *prometheus.CounterVec
	refused   *prometheus.CounterVec
	// protocol are what the protocol's handler and the server count.
	protocol []prometheus.Collector
}

func newMetrics(parking *Parking, connections *Connections, bodies *durablestreams.Bodies, protocol *durablestreams.Handler) *Metrics {
	return &Metrics{
		parkedNow: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "streamshift_node_parked_requests",
			Help: "Requests that wait at this node until a stream can be served or its owner is known.",
		}, func() float64 { n, _ := parking.Count(); return float64(n) }),
		bodyBytes: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "streamshift_node_body_bytes",
			Help: "Bytes of request bodies in memory.",
		}, func() float64 { return float64(bodies.Used() + protocol.BodyBytes()) }),
		parked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamshift_node_parked_requests_total",
			Help: "Requests that waited, by how their waiting ended.",
		}, []string{"result"}),
		sentOn: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamshift_node_sent_on_requests_total",
			Help: "Requests that were answered with another node: moved (409), elsewhere (307), loop (421).",
		}, []string{"answer"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamshift_node_refused_requests_total",
			Help: "Requests that were refused at a limit: stream_parking, parking, body, bodies; or unavailable.",
		}, []string{"limit"}),
		protocol: protocolMetrics(connections, protocol),
	}
}

// protocolMetrics shows what is counted elsewhere.
func protocolMetrics(connections *Connections, protocol *durablestreams.Handler) []prometheus.Collector {
	all := []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "streamshift_node_live_reads",
			Help: "Long-polls and event streams that are being served.",
		}, func() float64 { return float64(protocol.LiveReads()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "streamshift_node_connections",
			Help: "Connections that are open.",
		}, func() float64 { return float64(connections.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "streamshift_node_refused_connections_total",
			Help: "Connections that were refused since too many are open.",
		}, func() float64 { return float64(connections.Refused()) }),
	}
	for _, limit := range durablestreams.AllLimits() {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "streamshift_node_protocol_refused_requests_total",
			Help:        "Requests for open streams that were refused at a limit: body, bodies, body_time, live_reads.",
			ConstLabels: prometheus.Labels{"limit": limit.String()},
		}, func() float64 { return float64(protocol.Refused(limit)) }))
	}
	return all
}

// Collectors returns what a registry is to be given.
func (m *Metrics) Collectors() []prometheus.Collector {
	return append([]prometheus.Collector{m.parkedNow, m.bodyBytes, m.parked, m.sentOn, m.refused}, m.protocol...)
}
