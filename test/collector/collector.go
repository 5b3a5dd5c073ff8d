package collector

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one request: the exporters send up to 512 spans at a time.
const maxBody = 8 << 20

// Span is one that a process has sent.
type Span struct {
	// Service and Instance are of the process.
	Service, Instance string
	Name              string
	// Trace, ID and Parent are hexadecimal; Parent is empty for a root.
	Trace, ID, Parent string
	// Links are the traces that it is linked to.
	Links        []string
	Begun, Ended time.Time
	Attributes   map[string]string
	Failed       bool
}

// Collector takes spans until it is stopped.
type Collector struct {
	server *http.Server
	url    string

	mu    sync.Mutex
	spans []Span
}

// Start starts a collector on a free port of the loopback interface.
func Start(ctx context.Context) (*Collector, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for spans: %w", err)
	}
	c := &Collector{url: "http://" + listener.Addr().String()}
	handler := http.NewServeMux()
	handler.HandleFunc("POST /v1/traces", c.take)
	c.server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// Stop ends it.
func (c *Collector) Stop() { _ = c.server.Close() }

// URL is what OTEL_EXPORTER_OTLP_ENDPOINT is set to.
func (c *Collector) URL() string { return c.url }

// Trace returns the spans of one trace.
func (c *Collector) Trace(id string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []Span
	for _, span := range c.spans {
		if span.Trace == id {
			found = append(found, span)
		}
	}
	return found
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	request := &collectorv1.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.GetResourceSpans() {
		resource := attributes(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Service: resource["service.name"], Instance: resource["service.instance.id"], Name: s.GetName(),
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Begun: moment(s.GetStartTimeUnixNano()), Ended: moment(s.GetEndTimeUnixNano()),
					Attributes: attributes(s.GetAttributes()), Failed: s.GetStatus().GetMessage() != "",
				}
				for _, link := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(link.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func moment(nanoseconds uint64) time.Time {
	return time.Unix(0, int64(nanoseconds)) //nolint:gosec // overflows in the year 2262
}

func attributes(list []*commonv1.KeyValue) map[string]string {
	values := map[string]string{}
	for _, pair := range list {
		if v, text := pair.GetValue().GetValue().(*commonv1.AnyValue_StringValue); text {
			values[pair.GetKey()] = v.StringValue
		} else {
			values[pair.GetKey()] = pair.GetValue().String()
		}
	}
	return values
}
