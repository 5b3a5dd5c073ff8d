package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/tracing"
)

// Limits bound what requests may take.
type Limits struct {
	// BodyBytes bounds the body of one request, BodiesBytes those of all together.
	BodyBytes, BodiesBytes int64
	// ReplyBytes bounds the answer that is held back until it is complete, so that a node that dies in the middle is
	// not noticed by the client; longer ones are passed on as they come. RepliesBytes bounds all together.
	ReplyBytes, RepliesBytes int64
	// GroupBytes bounds one group of an event stream: a data event with its control event.
	GroupBytes int64
	// Connections bounds the clients' connections.
	Connections int
	// Parking bounds the requests that wait.
	Parking routing.ParkingLimits

	// ParkTimeout is how long a request waits in all until a node can serve its stream.
	ParkTimeout time.Duration
	// GiveBackAfter is how long a request waits for the target of a pending transfer, where that cannot be reached,
	// before the owner is asked, which may serve again by then.
	GiveBackAfter time.Duration
	// BodyTimeout bounds how long a client may take to send a body.
	BodyTimeout time.Duration
	// AnswerTimeout bounds how long one node may take to answer. It is above what a node parks and appends for together,
	// which tells more about the outcome.
	AnswerTimeout time.Duration
	// LeftTimeout is how long a node may take to answer after the stream went to another one. A node answers what it
	// has in hand before it gives a stream away, so that one that did not is hanging.
	LeftTimeout time.Duration
	// WriteTimeout bounds how long a client may take to accept one answer, or one group of an event stream.
	WriteTimeout time.Duration
	// LongPoll is how long a long-poll is held in all, at however many nodes.
	LongPoll time.Duration
	// EventStream is how long an event stream is carried on in one connection of the client.
	EventStream time.Duration
}

// DefaultLimits returns the limits that hold where nothing else is configured.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes:     8 << 20,
		BodiesBytes:   256 << 20,
		ReplyBytes:    4 << 20,
		RepliesBytes:  256 << 20,
		GroupBytes:    64 << 20,
		Connections:   routing.DefaultConnections,
		Parking:       routing.DefaultParkingLimits(),
		ParkTimeout:   routing.DefaultParkTimeout,
		GiveBackAfter: routing.GiveBackAfter,
		BodyTimeout:   30 * time.Second,
		AnswerTimeout: 35 * time.Second,
		LeftTimeout:   2 * time.Second,
		WriteTimeout:  30 * time.Second,
		LongPoll:      25 * time.Second,
		EventStream:   60 * time.Second,
	}
}

// Config is what a gateway is made of.
type Config struct {
	// Table tells where streams are.
	Table *routing.Table
	// Transport sends requests to nodes; NewTransport makes one.
	Transport http.RoundTripper
	// Access decides who may do what; nil: everybody may do everything.
	Access Access
	// DefaultNamespace is the namespace of streams whose URL names none.
	DefaultNamespace string
	Limits           Limits
	Now              func() time.Time
	Log              logr.Logger
	// Tracer records spans; nil: none.
	Tracer *tracing.Tracer
}

const (
	// nodeIdleTimeout is below the time after which a node closes an idle connection.
	nodeIdleTimeout = time.Minute
	pingAfter       = 10 * time.Second
	pingTimeout     = 10 * time.Second
	maxNodeHeader   = 64 << 10
	// nodeWindow is how much of one answer a node may send ahead of its client: what a client who takes nothing holds here. The windows
	// of all streams of a connection are far below that of the connection, so none stops another.
	nodeWindow = 128 << 10
)

// errPlainNode is about a node that does not speak TLS, where all have to.
var errPlainNode = errors.New("the address of a node is not that of a server with TLS")

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// DialTimeout is how long a connection to a node may take to come about.
const DialTimeout = 2 * time.Second

// NewTransport returns the transport to nodes: HTTP/2 over what dialTLS connects, which is a *tls.Conn, to nodes that speak TLS and to no
// others; without TLS where dialTLS is nil. Over HTTP/2 a node that ends says which requests it has not taken, and a request that is
// given up does not cost the connection that others use.
func NewTransport(dialTLS Dial) *http.Transport {
	var protocols http.Protocols
	dial := Dial((&net.Dialer{Timeout: DialTimeout}).DialContext)
	if dialTLS == nil {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP2(true)
		dial = func(context.Context, string, string) (net.Conn, error) { return nil, errPlainNode }
	}
	return &http.Transport{
		Protocols:              &protocols,
		DialContext:            dial,
		DialTLSContext:         dialTLS,
		DisableCompression:     true,
		IdleConnTimeout:        nodeIdleTimeout,
		MaxResponseHeaderBytes: maxNodeHeader,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout, MaxReceiveBufferPerStream: nodeWindow,
		},
	}
}
