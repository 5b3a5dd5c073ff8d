package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/drain"
	"github.com/streamshift/streamshift/controllers/fleet"
	"github.com/streamshift/streamshift/controllers/streamtransfer"
	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/storemeter"
)

// gathering keeps what is registered, with a value in every metric, as a component that has done everything once would show it.
type gathering struct {
	*prometheus.Registry
	// names of the metrics, by what they are described as.
	names map[string]bool
}

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// MustRegister implements prometheus.Registerer.
func (g *gathering) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		descriptions := make(chan *prometheus.Desc, 64)
		collector.Describe(descriptions)
		close(descriptions)
		labels := 0
		for description := range descriptions {
			parts := described.FindStringSubmatch(description.String())
			g.names[parts[1]] = true
			if parts[2] != "" {
				labels = len(strings.Split(parts[2], ","))
			}
		}
		values := make([]string, labels)
		for i := range values {
			values[i] = "x"
		}
		switch vector := collector.(type) {
		case *prometheus.CounterVec:
			vector.WithLabelValues(values...).Inc()
		case *prometheus.GaugeVec:
			vector.WithLabelValues(values...).Set(1)
		case *prometheus.HistogramVec:
			vector.WithLabelValues(values...).Observe(1)
		}
		g.Registry.MustRegister(collector)
	}
}

// everything returns the metrics of manager, node and gateway.
func everything(t *testing.T) *gathering {
	t.Helper()
	g := &gathering{Registry: prometheus.NewPedanticRegistry(), names: map[string]bool{}}
	drain.NewMetrics(g)
	streamtransfer.NewMetrics(g)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	g.MustRegister(fleet.New(fake.NewClientBuilder().WithScheme(scheme).WithObjects(node).Build(), logr.Discard()))

	storemeter.New(nil, g, time.Now)
	limits := durablestreams.DefaultLimits()
	protocol, err := durablestreams.New(durablestreams.Config{
		Limits: limits, Clock: time.Now, Jitter: func(int64) int64 { return 0 }, OnExpired: func(durablestreams.Stream) {}, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	front := routing.NewNode(routing.NodeConfig{
		Node: "node-a", Protocol: protocol, Now: time.Now, Log: logr.Discard(),
		Bodies: durablestreams.NewBodies(limits.BodyBytes, limits.BodiesBytes, limits.BodyTimeout, time.Now),
	})
	g.MustRegister(front.Metrics().Collectors()...)

	entrance := gateway.New(gateway.Config{
		Table: routing.NewTable(), Transport: gateway.NewTransport(nil), Limits: gateway.DefaultLimits(), Now: time.Now, Log: logr.Discard(),
	})
	g.MustRegister(entrance.Metrics().Collectors()...)
	return g
}
