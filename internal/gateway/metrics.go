package gateway

import "github.com/prometheus/client_golang/prometheus"

// Results of a parked request, as the label "result" of the metric says them.
const (
	parkedServed  = "answered"
	parkedTimeout = "timeout"
	parkedGone    = "client_gone"
	parkedOther   = "other"
)

// Metrics count what a gateway does.
type Metrics struct {
	parkedNow, bodyBytes, replyBytes prometheus.GaugeFunc
	connections                      prometheus.GaugeFunc
	refusedConnections               prometheus.CounterFunc
	parked, asked, refused, denied   *prometheus.CounterVec
	carriedOn, cutOff                prometheus.Counter
}

func newMetrics(g *Gateway) *Metrics {
	gauge := func(name, help string, value func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return &Metrics{
		parkedNow: gauge("streamshift_gateway_parked_requests",
			"Requests that wait until a node can serve their stream.",
			func() float64 { n, _ := g.parking.Count(); return float64(n) }),
		bodyBytes: gauge("streamshift_gateway_body_bytes",
			"Bytes of request bodies in memory.", func() float64 { return float64(g.bodies.Used()) }),
		replyBytes: gauge("streamshift_gateway_reply_bytes",
			"Bytes of answers in memory.", func() float64 { return float64(g.replies.Used()) }),
		connections: gauge("streamshift_gateway_connections",
			"Connections of clients that are open.", func() float64 { return float64(g.connections.Open()) }),
		refusedConnections: prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "streamshift_gateway_refused_connections_total",
			Help: "Connections of clients that were refused since too many are open.",
		}, func() float64 { return float64(g.connections.Refused()) }),
		parked: counters("streamshift_gateway_parked_requests_total",
			"Requests that waited, by how their waiting ended.", "result"),
		asked: counters("streamshift_gateway_asked_total",
			"Requests sent to nodes, by outcome: answered, sent_on, unaware, not_taken, unsent, broken.", "outcome"),
		refused: counters("streamshift_gateway_refused_requests_total",
			"Requests refused at a limit: park_time, stream_parking, parking, body. Each one may cost a producer its batch.", "limit"),
		denied: counters("streamshift_gateway_denied_requests_total",
			"Requests denied before anything was read of their bodies: unauthenticated, forbidden, unavailable (nobody could tell).", "reason"),
		carriedOn: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "streamshift_gateway_event_streams_carried_on_total",
			Help: "Event streams that went on at another session in the same connection of the client.",
		}),
		cutOff: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "streamshift_gateway_cut_off_clients_total",
			Help: "Clients that were cut off since they did not take their answers and others lacked the room.",
		}),
	}
}

// Collectors returns what a registry is to be given.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.parkedNow, m.bodyBytes, m.replyBytes, m.connections, m.refusedConnections, m.parked, m.asked, m.refused, m.denied, m.carriedOn, m.cutOff,
	}
}
