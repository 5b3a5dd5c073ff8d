package kubectlstream

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/internal/routing/routingtest"
	"github.com/streamshift/streamshift/streamclient"
)

// newGateway serves streams, of which it has one of JSON and one of text, under names that no object has.
func newGateway(t *testing.T) string {
	t.Helper()
	address := routingtest.New(t, routingtest.Options{PlaceOn: "a"}).AddNode("a").URL
	for name, contentType := range map[string]string{"Shop/Orders": "application/json", "Log": "text/plain"} {
		_, err := streamclient.New(address, streamclient.Options{}).Stream("default", name).
			Create(t.Context(), streamclient.CreateOptions{ContentType: contentType})
		if err != nil {
			t.Fatal(err)
		}
	}
	return address
}

func TestAppendAndRead(t *testing.T) {
	address := newGateway(t)
	type step struct {
		input string
		args  []string
		want  result
	}
	for name, steps := range map[string][]step{
		"JSON": {
			{"", []string{"append", "Shop/Orders", `{"order":1}`, `[2, 3]`}, result{Err: "appended to stream/Shop/Orders: 2 records\n"}},
			{"{\"order\":\n4}\n5 \"six\"", []string{"append", "Shop/Orders"}, result{Err: "appended to stream/Shop/Orders: 3 records\n"}},
			{"7 oops 8", []string{"append", "Shop/Orders"}, result{1, "", "error: the stream consists of JSON, and standard input has something else " +
				"from byte 1 on: invalid character 'o' looking for beginning of value (stored before that: 1 record)\n"}},
			{"", []string{"append", "Shop/Orders", "oops"}, result{1, "",
				"error: the stream consists of JSON, and the argument \"oops\" is no JSON value: quote strings for JSON, too ('\"text\"')\n"}},
			{"", []string{"read", "Shop/Orders"}, result{Out: "{\"order\":1}\n[2,3]\n{\"order\":4}\n5\n\"six\"\n7\n"}},
			{"", []string{"read", "Shop/Orders", "--offset", "now"}, result{}},
		},
		"text": {
			{"", []string{"append", "Log", "one", "two"}, result{Err: "appended to stream/Log: all of it\n"}},
			{"three\nfour", []string{"append", "Log"}, result{Err: "appended to stream/Log: all of it\n"}},
			{"", []string{"append", "Log"}, result{Err: "appended to stream/Log: nothing, the input was empty\n"}},
			{"", []string{"read", "Log"}, result{Out: "one\ntwo\nthree\nfour"}},
			{"", []string{"read", "nobody"}, result{1, "", `error: there is no stream "nobody" in namespace "default" at ` + address +
				": kubectl stream list -A shows those that there are\n"}},
			{"", []string{"read", "Log", "--offset", "nowhere"}, result{1, "", "error: reading: server answered 400: "}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.env[gatewayVariable] = address
			for _, s := range steps {
				w.input = s.input
				got := w.run(t, s.args...)
				if strings.HasSuffix(s.want.Err, "400: ") { // what follows is the server's
					got.Err = got.Err[:min(len(got.Err), len(s.want.Err))]
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("%v (-want +got):\n%s", s.args, diff)
				}
			}
		})
	}
}

func TestAStreamThatNobodyServesIsLookedAtByItsStatus(t *testing.T) {
	answer := &streamclient.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"1"}}}
	got := lookError(fmt.Errorf("describing the stream: %w", answer), "http://gateway", "shop", "Log").Error()
	const want = `http://gateway cannot serve stream "Log" now (server answered 503: Service Unavailable): ` +
		"kubectl stream status Log -n shop says what the stream waits for"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAGatewayThatNobodySaysToTrust(t *testing.T) {
	server, _ := listener(t, (*httptest.Server).StartTLS)
	w := newWorld(t)
	w.env[gatewayVariable] = server.URL
	got := w.run(t, "read", "Log")
	if !strings.HasPrefix(got.Err, "error: gateway "+server.URL+" is not trusted: ") || !strings.Contains(got.Err, "--gateway-ca") {
		t.Errorf("said %q", got.Err)
	}
}

func TestAReaderGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t)
	w.env[gatewayVariable] = newGateway(t)
	w.run(t, "append", "Log", "one")
	first := w.run(t, "read", "Log", "--show-next")
	next, found := strings.CutPrefix(strings.TrimSpace(first.Err), "next offset: ")
	if !found || first.Out != "one\n" {
		t.Fatalf("got %+v", first)
	}
	w.run(t, "append", "Log", "two")
	if got := w.run(t, "read", "Log", "--offset", next); got.Out != "two\n" {
		t.Errorf("got %+v", got)
	}
}

func TestFollowingEndsWithTheStream(t *testing.T) {
	w, address := newWorld(t), newGateway(t)
	w.run(t, "append", "Log", "one", "--gateway", address)
	if _, err := streamclient.New(address, streamclient.Options{}).Stream("default", "Log").Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.run(t, "read", "Log", "--follow", "--gateway", address); got != (result{Out: "one\n"}) {
		t.Errorf("got %+v", got)
	}
}

func TestGateway(t *testing.T) {
	named := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: gatewayConfigMap}, Data: data}
	}
	cluster := named(map[string]string{gatewayKey: "https://cluster"})
	for name, c := range map[string]struct {
		flag, variable string
		named          *corev1.ConfigMap
		want, wantErr  string
	}{
		"the flag goes first":         {"http://flag", "http://variable", cluster, "http://flag", ""},
		"then the variable":           {"", "http://variable", cluster, "http://variable", ""},
		"then the cluster":            {"", "", cluster, "https://cluster", ""},
		"a cluster that names none":   {"", "", named(nil), "", "has no key"},
		"a cluster that names no URL": {"", "", named(map[string]string{gatewayKey: "gateway:4437"}), "", "is no URL"},
		"another scheme":              {"ftp://flag", "", cluster, "", "is no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.named)
			w.env[gatewayVariable] = c.variable
			got, err := w.accessOf(Environment{Getenv: func(name string) string { return w.env[name] }}).gateway(t.Context(), c.flag)
			if got.url != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestAnInterruptIsNoFailureOfTheGateway(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	w := newWorld(t)
	want := result{StatusInterrupted, "", "error: interrupted\n"}
	if got := w.runFor(ctx, "read", "Log", "--gateway", newGateway(t)); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestACallThatLastsIsToldOf(t *testing.T) {
	out := &strings.Builder{}
	answer := func() (int, error) { return 7, nil }
	if got, err := saying(out, time.Hour, "Waiting", answer); got != 7 || err != nil || out.Len() > 0 {
		t.Errorf("one that is quick gives %d, %v, and prints %q", got, err, out)
	}
	printed := &told{happened: make(chan struct{})}
	got, err := saying(printed, time.Nanosecond, "Waiting", func() (int, error) {
		<-printed.happened
		return 7, nil
	})
	if got != 7 || err != nil || printed.text != "Waiting\n" {
		t.Errorf("one that lasts gives %d, %v, and prints %q", got, err, printed.text)
	}
}

// told keeps what is written, and says when.
type told struct {
	text     string
	happened chan struct{}
}

func (w *told) Write(p []byte) (int, error) {
	w.text += string(p)
	close(w.happened)
	return len(p), nil
}
