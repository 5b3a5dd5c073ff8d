package routing_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

var (
	orders = routing.Stream{Namespace: "shop", Name: "orders"}
	text   = durablestreams.Settings{ContentType: "text/plain"}
)

const ordersPath = "/v1/stream/shop/orders"

// threeNodes starts nodes a, b and c.
func threeNodes(t *testing.T, options routingtest.Options) (*routingtest.Cluster, map[string]*routingtest.Node) {
	t.Helper()
	c := routingtest.New(t, options)
	nodes := map[string]*routingtest.Node{}
	for _, name := range []string{"a", "b", "c"} {
		nodes[name] = c.AddNode(name)
	}
	return c, nodes
}

// routed is the part of an answer that says where a request belongs.
type routed struct {
	Status                           int
	Answer, Node, Role, Epoch, Where string
}

func routedOf(a routingtest.Answer) routed {
	h := a.Header
	return routed{
		Status: a.Status, Answer: h.Get(routing.HeaderAnswer), Node: h.Get(routing.HeaderNode),
		Role: h.Get(routing.HeaderRole), Epoch: h.Get(routing.HeaderEpoch), Where: h.Get("Location"),
	}
}

func TestNodeSendsRequestsWhereTheyBelong(t *testing.T) {
	moved := routed{Status: 409, Answer: "moved", Node: "b", Role: "target", Epoch: "1"}
	tests := map[string]struct {
		pending bool
		ask     string
		want    routed
	}{
		"the owner serves":                         {ask: "a", want: routed{Status: 204}},
		"another node redirects to the owner":      {ask: "c", want: routed{Status: 307, Answer: "elsewhere", Node: "a", Role: "owner", Epoch: "1", Where: "{a}" + ordersPath + "?x=1"}},
		"the source of a transfer names target":    {pending: true, ask: "a", want: moved},
		"a third node in a transfer, names target": {pending: true, ask: "c", want: moved},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, nodes := threeNodes(t, routingtest.Options{})
			c.Start(orders, text, "a")
			if tt.pending {
				c.Accept(orders, "b")
			}
			a := routingtest.NewClient(t).Do(http.MethodPost, nodes[tt.ask].URL+ordersPath+"?x=1", "one")
			tt.want.Where = strings.ReplaceAll(tt.want.Where, "{a}", nodes["a"].URL)
			if diff := cmp.Diff(tt.want, routedOf(a)); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s%s", diff, a.Body)
			}
			if tt.want.Node != "" {
				if got, want := a.Header.Get(routing.HeaderAddress), nodes[tt.want.Node].URL; got != want {
					t.Errorf("the address is %q, want %q", got, want)
				}
			}
		})
	}
}

func TestNodeMovedAnswerHasItsOwnProblemType(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	c.Start(orders, text, "a")
	c.Accept(orders, "b")
	a := routingtest.NewClient(t).Do(http.MethodPost, nodes["a"].URL+ordersPath, "one")
	if want := `"type":"https://streamshift.io/problems/stream-moved"`; !strings.Contains(a.Body, want) {
		t.Errorf("the body lacks %s: %s", want, a.Body)
	}
	if want := "not applied"; !strings.Contains(a.Body, want) {
		t.Errorf("the body lacks %q: %s", want, a.Body)
	}
}

func TestNodeTargetParksUntilItsSessionOpens(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	c.Start(orders, text, "a")
	c.Accept(orders, "b")
	answer := client.Go(http.MethodPost, nodes["b"].URL+ordersPath, "one")
	routingtest.Eventually(t, "the append waits at the target", func() bool { return nodes["b"].Front.Parked() == 1 })
	c.Close(orders)
	c.Complete(orders)
	if got := nodes["b"].Front.Parked(); got != 1 {
		t.Errorf("before the session is open %d requests wait, want 1", got)
	}
	c.Open(orders)
	if a := answer(); a.Status != http.StatusNoContent {
		t.Errorf("the append is answered %d %s, want 204", a.Status, a.Body)
	}
	if a := client.Do(http.MethodGet, nodes["b"].URL+ordersPath, ""); a.Body != "one" {
		t.Errorf("the stream holds %q, want %q", a.Body, "one")
	}
	if got := nodes["b"].Front.Parked(); got != 0 {
		t.Errorf("%d requests still wait, want none", got)
	}
}

func TestNodeTargetSendsBackWhenTheTransferIsWithdrawn(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	c.Start(orders, text, "a")
	c.Accept(orders, "b")
	answer := routingtest.NewClient(t).Go(http.MethodPost, nodes["b"].URL+ordersPath, "one")
	routingtest.Eventually(t, "the append waits at the target", func() bool { return nodes["b"].Front.Parked() == 1 })
	c.Withdraw(orders)
	want := routed{Status: 307, Answer: "elsewhere", Node: "a", Role: "owner", Epoch: "1", Where: nodes["a"].URL + ordersPath}
	if diff := cmp.Diff(want, routedOf(answer())); diff != "" {
		t.Errorf("the answer differs (-want +got):\n%s", diff)
	}
}

func TestNodeAnswersUnavailableWhenTheParkTimeIsOver(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{ParkTimeout: 20 * time.Millisecond})
	c.Start(orders, text, "a")
	c.Accept(orders, "b")
	a := routingtest.NewClient(t).Do(http.MethodPost, nodes["b"].URL+ordersPath, "one")
	want := routed{Status: 503, Answer: "unavailable", Node: "a", Role: "owner", Epoch: "1"}
	if diff := cmp.Diff(want, routedOf(a)); diff != "" {
		t.Errorf("the answer differs (-want +got):\n%s", diff)
	}
	if a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers are %v, want Retry-After: 1 and Cache-Control: no-store", a.Header)
	}
}

func TestNodeParkingIsBounded(t *testing.T) {
	other := routing.Stream{Namespace: "shop", Name: "other"}
	c, nodes := threeNodes(t, routingtest.Options{Parking: routing.ParkingLimits{PerStream: 2, Total: 3, Bytes: 6}})
	client := routingtest.NewClient(t)
	for _, stream := range []routing.Stream{orders, other} {
		c.Make(stream, text)
		c.Place(stream, "a")
	}
	parked := 0
	park := func(path, body string) func() routingtest.Answer {
		answer := client.Go(http.MethodPost, nodes["a"].URL+path, body)
		parked++
		routingtest.Eventually(t, "the append waits", func() bool { return nodes["a"].Front.Parked() == parked })
		return answer
	}
	waiting := []func() routingtest.Answer{park(ordersPath, "11"), park(ordersPath, "22")}
	if a := client.Do(http.MethodPost, nodes["a"].URL+ordersPath, "3"); a.Status != http.StatusTooManyRequests {
		t.Errorf("one beyond the limit of a stream is answered %d, want 429", a.Status)
	}
	if a := client.Do(http.MethodPost, nodes["a"].URL+"/v1/stream/shop/other", "333"); a.Status != http.StatusServiceUnavailable {
		t.Errorf("one byte beyond the limit of bytes is answered %d, want 503", a.Status)
	}
	waiting = append(waiting, park("/v1/stream/shop/other", "33"))
	a := client.Do(http.MethodGet, nodes["a"].URL+"/v1/stream/shop/other", "")
	if a.Status != http.StatusServiceUnavailable || a.Header.Get(routing.HeaderAnswer) != "full" {
		t.Errorf("one beyond the limit in all is answered %d %v, want 503 full", a.Status, a.Header)
	}
	c.Open(orders)
	c.Open(other)
	for _, answer := range waiting {
		if a := answer(); a.Status != http.StatusNoContent {
			t.Errorf("a parked append is answered %d, want 204", a.Status)
		}
	}
}

func TestNodeStopsLoops(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	c.Start(orders, text, "a")
	client := routingtest.NewClient(t)
	for hops, want := range map[int]routed{
		routing.MaxHops:     {Status: 307, Answer: "elsewhere", Node: "a", Role: "owner", Epoch: "1", Where: nodes["a"].URL + ordersPath},
		routing.MaxHops + 1: {Status: 421, Answer: "loop", Node: "a", Role: "owner", Epoch: "1"},
	} {
		a := client.Do(http.MethodPost, nodes["b"].URL+ordersPath, "one", fmt.Sprintf("%s: %d", routing.HeaderHops, hops))
		if diff := cmp.Diff(want, routedOf(a)); diff != "" {
			t.Errorf("after %d hops the answer differs (-want +got):\n%s", hops, diff)
		}
	}
	if a := client.Do(http.MethodPost, nodes["a"].URL+ordersPath, "one", routing.HeaderHops+": 9"); a.Status != http.StatusNoContent {
		t.Errorf("the owner answers %d after many hops, want 204", a.Status)
	}
}

func TestNodeWithAnOldViewWaitsForItsWatch(t *testing.T) {
	tests := map[string]struct {
		hint []string
		away bool
		// step is what the register does while node b does not see it.
		step func(c *routingtest.Cluster)
	}{
		"named as target before its watch says so": {
			hint: []string{routing.HeaderRouteEpoch + ": 1", routing.HeaderRouteRole + ": target"},
			step: func(c *routingtest.Cluster) { c.Accept(orders, "b") },
		},
		"named as owner before its watch says so": {
			hint: []string{routing.HeaderRouteEpoch + ": 2", routing.HeaderRouteRole + ": owner"},
			step: func(c *routingtest.Cluster) { c.Accept(orders, "b"); c.Close(orders); c.Complete(orders) },
		},
		"the same while the API server is away": {
			hint: []string{routing.HeaderRouteEpoch + ": 2", routing.HeaderRouteRole + ": owner"},
			away: true,
			step: func(c *routingtest.Cluster) { c.Accept(orders, "b"); c.Close(orders); c.Complete(orders) },
		},
		"without a hint it asks the API server": {
			step: func(c *routingtest.Cluster) { c.Accept(orders, "b") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, nodes := threeNodes(t, routingtest.Options{})
			c.Start(orders, text, "a")
			nodes["b"].SetLagging(true)
			tt.step(c)
			c.SetAway(tt.away)
			answer := routingtest.NewClient(t).Go(http.MethodPost, nodes["b"].URL+ordersPath, "one", tt.hint...)
			routingtest.Eventually(t, "the append waits", func() bool { return nodes["b"].Front.Parked() == 1 })
			c.SetAway(false)
			nodes["b"].SetLagging(false)
			if r, _ := c.Register(orders); r.Owner == "a" {
				c.Close(orders)
				c.Complete(orders)
			}
			c.Open(orders)
			if a := answer(); a.Status != http.StatusNoContent {
				t.Errorf("the append is answered %d %s, want 204", a.Status, a.Body)
			}
		})
	}
}

// The API server goes away after it told a gateway of a transfer, and before it told the target.
func TestNodeThatHasNotHeardOfATransferSaysSo(t *testing.T) {
	target := []string{routing.HeaderRouteEpoch + ": 1", routing.HeaderRouteRole + ": target"}
	tests := map[string]struct {
		giveBackAfter time.Duration
		// heard tells that the node hears of the transfer while the request waits.
		heard bool
		want  routed
	}{
		"never hears of it":   {giveBackAfter: 20 * time.Millisecond, want: routed{Status: 503, Answer: "unaware"}},
		"hears of it in time": {giveBackAfter: time.Hour, heard: true, want: routed{Status: 204}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, nodes := threeNodes(t, routingtest.Options{GiveBackAfter: tt.giveBackAfter})
			c.Start(orders, text, "a")
			nodes["b"].SetLagging(true)
			c.Accept(orders, "b")
			c.SetAway(true)
			answer := routingtest.NewClient(t).Go(http.MethodPost, nodes["b"].URL+ordersPath, "one", target...)
			if tt.heard {
				routingtest.Eventually(t, "the append waits", func() bool { return nodes["b"].Front.Parked() == 1 })
				c.SetAway(false)
				nodes["b"].SetLagging(false)
				c.Close(orders)
				c.Complete(orders)
				c.Open(orders)
			}
			if diff := cmp.Diff(tt.want, routedOf(answer())); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeThatLostAStreamUnawaresDoesNotServeWhoKnowsBetter(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	c.Start(orders, text, "a")
	nodes["a"].SetLagging(true)
	c.TakeOver(orders, "b")
	a := routingtest.NewClient(t).Do(http.MethodGet, nodes["a"].URL+ordersPath, "",
		routing.HeaderRouteEpoch+": 2", routing.HeaderRouteRole+": owner")
	want := routed{Status: 307, Answer: "elsewhere", Node: "b", Role: "owner", Epoch: "2", Where: nodes["b"].URL + ordersPath}
	if diff := cmp.Diff(want, routedOf(a)); diff != "" {
		t.Errorf("the answer differs (-want +got):\n%s", diff)
	}
}

// A stale cache keeps asking the old owner: it costs one question each, and opens nothing (C7).
func TestNodeKeepsSendingOnAfterTheStreamLeft(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	c.Start(orders, text, "a")
	c.Transfer(orders, "b")
	client := routingtest.NewClient(t)
	const requests = 1000
	for range requests {
		if a := client.Do(http.MethodPost, nodes["a"].URL+ordersPath, "one", routing.HeaderRouteEpoch+": 1", routing.HeaderRouteRole+": owner"); a.Status != http.StatusTemporaryRedirect {
			t.Fatalf("the old owner answers %d, want 307", a.Status)
		}
	}
	if got := c.Located(); got != requests {
		t.Errorf("the API server was asked %d times for %d requests, want once each", got, requests)
	}
	if r, _ := c.Register(orders); r.Owner != "b" || r.Epoch != 2 {
		t.Errorf("the register is %+v, want owner b at epoch 2", r)
	}
}

func TestNodeUnknownStreams(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		if a := client.Do(method, nodes["a"].URL+ordersPath, "x"); a.Status != http.StatusNotFound {
			t.Errorf("%s of an unknown stream is answered %d, want 404", method, a.Status)
		}
	}
	c.SetAway(true)
	if a := client.Do(http.MethodGet, nodes["a"].URL+ordersPath, ""); a.Status != http.StatusServiceUnavailable {
		t.Errorf("with the API server away an unknown stream is answered %d, want 503", a.Status)
	}
	for path, want := range map[string]int{"/v1/stream/a//b": 400, "/v1/stream/": 404, "/other": 404, "/v1/stream/__ds/x": 501} {
		if a := client.Do(http.MethodGet, nodes["a"].URL+path, ""); a.Status != want {
			t.Errorf("GET %s is answered %d, want %d", path, a.Status, want)
		}
	}
	if a := client.Do(http.MethodPatch, nodes["a"].URL+ordersPath, ""); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("PATCH is answered %d, want 405", a.Status)
	}
	if a := client.Do(http.MethodOptions, nodes["a"].URL+ordersPath, ""); a.Status != http.StatusNoContent {
		t.Errorf("OPTIONS is answered %d, want 204", a.Status)
	}
}

func TestNodeCreatesStreams(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{PlaceOn: "b"})
	client := routingtest.NewClient(t)
	a := client.Do(http.MethodPut, nodes["a"].URL+ordersPath, "first")
	want := routed{Status: 307, Answer: "elsewhere", Node: "b", Role: "owner", Epoch: "1", Where: nodes["b"].URL + ordersPath}
	if diff := cmp.Diff(want, routedOf(a)); diff != "" {
		t.Errorf("a PUT at another node than the owner differs (-want +got):\n%s", diff)
	}
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		if a := client.Do(http.MethodPut, nodes["b"].URL+ordersPath, "first"); a.Status != want {
			t.Errorf("a PUT at the owner is answered %d, want %d", a.Status, want)
		}
	}
	if a := client.Do(http.MethodPut, nodes["b"].URL+ordersPath, "", "Content-Type: text/html"); a.Status != http.StatusConflict {
		t.Errorf("a PUT with another configuration is answered %d, want 409", a.Status)
	}
	if a := client.Do(http.MethodGet, nodes["b"].URL+ordersPath, ""); a.Body != "first" {
		t.Errorf("the stream holds %q, want its first content once", a.Body)
	}
	if a := client.Do(http.MethodPut, nodes["b"].URL+"/v1/stream/shop/bad", "", "Stream-TTL: x"); a.Status != http.StatusBadRequest {
		t.Errorf("a malformed PUT is answered %d, want 400", a.Status)
	}
	if _, made := c.Register(routing.Stream{Namespace: "shop", Name: "bad"}); made {
		t.Error("a malformed PUT has made an object")
	}
}

func TestNodeWaitsForTheStreamItMadeToBePlaced(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	here := client.Go(http.MethodPut, nodes["a"].URL+ordersPath, "first")
	there := client.Go(http.MethodPut, nodes["b"].URL+ordersPath, "first")
	routingtest.Eventually(t, "both wait", func() bool { return nodes["a"].Front.Parked() == 1 && nodes["b"].Front.Parked() == 1 })
	c.Place(orders, "a")
	c.Open(orders)
	if a := here(); a.Status != http.StatusCreated {
		t.Errorf("the owner answers %d, want 201", a.Status)
	}
	if a := there(); a.Status != http.StatusTemporaryRedirect {
		t.Errorf("the other node answers %d, want 307", a.Status)
	}
}

func TestNodeDeletesStreams(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	c.Start(orders, text, "a")
	if a := client.Do(http.MethodDelete, nodes["b"].URL+ordersPath, ""); a.Status != http.StatusTemporaryRedirect {
		t.Errorf("DELETE at another node is answered %d, want 307", a.Status)
	}
	for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
		if a := client.Do(http.MethodDelete, nodes["a"].URL+ordersPath, ""); a.Status != want {
			t.Errorf("DELETE at the owner is answered %d, want %d", a.Status, want)
		}
	}
}

func TestNodePutReplacesAnExpiredStream(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{PlaceOn: "a"})
	client := routingtest.NewClient(t)
	if a := client.Do(http.MethodPut, nodes["a"].URL+ordersPath, "old", "Stream-TTL: 0"); a.Status != http.StatusCreated {
		t.Fatalf("PUT is answered %d, want 201", a.Status)
	}
	before, _ := c.Register(orders)
	if a := client.Do(http.MethodDelete, nodes["a"].URL+ordersPath, ""); a.Status != http.StatusNotFound {
		t.Errorf("DELETE of an expired stream is answered %d, want 404", a.Status)
	}
	if a := client.Do(http.MethodPut, nodes["a"].URL+ordersPath, "new"); a.Status != http.StatusCreated {
		t.Errorf("PUT on an expired stream is answered %d %s, want 201", a.Status, a.Body)
	}
	if after, _ := c.Register(orders); after.UID == before.UID {
		t.Error("the expired stream was not replaced by a new one")
	}
	if a := client.Do(http.MethodGet, nodes["a"].URL+ordersPath, ""); a.Body != "new" {
		t.Errorf("the stream holds %q, want %q", a.Body, "new")
	}
}

// Every append that arrives while the session closes is answered: done, or moved. What is done is in the stream, once
// (C4).
func TestNodeAnswersEveryAppendWhileClosing(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	c.Start(orders, text, "a")
	const appends = 200
	answers := make([]func() routingtest.Answer, appends)
	for i := range answers {
		answers[i] = client.Go(http.MethodPost, nodes["a"].URL+ordersPath, fmt.Sprintf("<%d>", i))
		if i == appends/2 {
			c.Accept(orders, "b")
			c.Close(orders)
		}
	}
	c.Complete(orders)
	c.Open(orders)
	var done []string
	for i, answer := range answers {
		switch a := answer(); a.Status {
		case http.StatusNoContent:
			done = append(done, fmt.Sprintf("<%d>", i))
		case http.StatusConflict, http.StatusTemporaryRedirect:
			if a.Header.Get(routing.HeaderNode) != "b" {
				t.Errorf("append %d is sent to %q, want b", i, a.Header.Get(routing.HeaderNode))
			}
		default:
			t.Errorf("append %d is answered %d %s", i, a.Status, a.Body)
		}
	}
	content := client.Do(http.MethodGet, nodes["b"].URL+ordersPath, "").Body
	for _, record := range done {
		if strings.Count(content, record) != 1 {
			t.Errorf("%s was acknowledged and is in the stream %d times", record, strings.Count(content, record))
		}
	}
	if got := strings.Count(content, "<"); got != len(done) {
		t.Errorf("the stream holds %d records, %d were acknowledged", got, len(done))
	}
}

func TestNodeLongPollIsSentOnWhenTheSessionCloses(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	c.Start(orders, text, "a")
	tail := client.Do(http.MethodPost, nodes["a"].URL+ordersPath, "one").Header.Get("Stream-Next-Offset")
	poll := client.Go(http.MethodGet, nodes["a"].URL+ordersPath+"?live=long-poll&offset="+tail, "")
	c.Accept(orders, "b")
	c.Close(orders)
	if diff := cmp.Diff(routed{Status: 409, Answer: "moved", Node: "b", Role: "target", Epoch: "1"}, routedOf(poll())); diff != "" {
		t.Errorf("the long-poll's answer differs (-want +got):\n%s", diff)
	}
}

// A session may end without a transfer (a reopening): the append waits for the next one, with its body.
func TestNodeRepeatsAfterAReopening(t *testing.T) {
	c, nodes := threeNodes(t, routingtest.Options{})
	client := routingtest.NewClient(t)
	c.Start(orders, text, "a")
	c.Close(orders)
	answer := client.Go(http.MethodPost, nodes["a"].URL+ordersPath, "one")
	routingtest.Eventually(t, "the append waits", func() bool { return nodes["a"].Front.Parked() == 1 })
	c.Accept(orders, "b")
	if a := answer(); a.Header.Get(routing.HeaderAnswer) != "moved" {
		t.Errorf("the append is answered %d %v, want moved", a.Status, a.Header)
	}
}

// A long-poll that was parked has used up that time: client and proxies count from when they asked.
func TestNodeLongPollCountsTheTimeItWasParked(t *testing.T) {
	var ahead atomic.Int64
	limits := durablestreams.DefaultLimits()
	limits.LongPoll = 25 * time.Second // longer than a test waits for an answer
	c, nodes := threeNodes(t, routingtest.Options{
		Limits: limits, ParkTimeout: 2 * limits.LongPoll,
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	c.Start(orders, text, "a")
	c.Accept(orders, "b")
	poll := routingtest.NewClient(t).Go(http.MethodGet, nodes["b"].URL+ordersPath+"?live=long-poll&offset=-1", "")
	routingtest.Eventually(t, "the long-poll waits at the target", func() bool { return nodes["b"].Front.Parked() == 1 })
	ahead.Store(int64(limits.LongPoll))
	c.Close(orders)
	c.Complete(orders)
	c.Open(orders)
	if a := poll(); a.Status != http.StatusNoContent {
		t.Errorf("the long-poll is answered %d %s, want 204", a.Status, a.Body)
	}
}
