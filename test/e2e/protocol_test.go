package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request to a stream through the gateway; headers are given as "Name: value".
func ask(ctx context.Context, method, stream, query, body string, headers ...string) answer {
	GinkgoHelper()
	url := streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream + query
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return answer{response.StatusCode, response.Header, string(text)}
}

// create makes a text stream as a client does, and deletes it at the end of the spec.
func create(ctx context.Context, name string, headers ...string) {
	GinkgoHelper()
	headers = append([]string{"Content-Type: text/plain"}, headers...)
	Expect(ask(ctx, http.MethodPut, name, "", "", headers...).status).To(Equal(http.StatusCreated))
	DeferCleanup(func(cleanup SpecContext) { ask(cleanup, http.MethodDelete, name, "", "") })
}

// post appends a text and expects it to be answered with the status.
func post(ctx context.Context, stream, text string, status int, headers ...string) answer {
	GinkgoHelper()
	got := ask(ctx, http.MethodPost, stream, "", text, append([]string{"Content-Type: text/plain"}, headers...)...)
	Expect(got.status).To(Equal(status), got.body)
	return got
}

// ownerOf returns the node that the register names.
func ownerOf(ctx context.Context, stream string) string {
	GinkgoHelper()
	object := &v1alpha1.Stream{}
	Expect(cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: stream}, object)).To(Succeed())
	return object.Status.Node
}

// transferOnce transfers a stream to the next node and waits until it is there. The number makes its name unique.
func transferOnce(ctx context.Context, stream string, number int) {
	GinkgoHelper()
	awaitSuccess(ctx, newTransfer(ctx, stream, otherNode(ownerOf(ctx, stream)), fmt.Sprintf("%s-%d", stream, number)))
}

// What a change of the epoch must not change for clients: the conformance suite never restarts or transfers anything.
var _ = Describe("The protocol over a change of the epoch", func() {
	// changes are what ends one epoch and begins the next.
	changes := []struct {
		what string
		do   func(ctx context.Context, stream string)
	}{
		{"a transfer", func(ctx context.Context, stream string) { transferOnce(ctx, stream, 0) }},
		{"another transfer", func(ctx context.Context, stream string) { transferOnce(ctx, stream, 1) }},
		{"a clean restart of the owner", func(ctx context.Context, stream string) {
			Expect(streamshift.Nodes[ownerOf(ctx, stream)].Restart(ctx)).To(Succeed())
		}},
		{"the owner's death", func(ctx context.Context, stream string) {
			owner := streamshift.Nodes[ownerOf(ctx, stream)]
			Expect(owner.Kill()).To(Succeed())
			Expect(owner.Start(ctx)).To(Succeed())
		}},
	}

	It("keeps ETags until the stream is closed, and changes them then", func(ctx SpecContext) {
		const stream = "etags"
		create(ctx, stream)
		post(ctx, stream, "one", http.StatusNoContent)
		const whole = "?offset=-1"
		open := ask(ctx, http.MethodGet, stream, whole, "").header.Get("ETag")
		Expect(open).NotTo(BeEmpty())
		for _, change := range changes[:2] {
			By(change.what)
			change.do(ctx, stream)
			Expect(ask(ctx, http.MethodGet, stream, whole, "").header.Get("ETag")).To(Equal(open))
			Expect(ask(ctx, http.MethodGet, stream, whole, "", "If-None-Match: "+open).status).To(Equal(http.StatusNotModified))
		}
		Expect(ask(ctx, http.MethodPost, stream, "", "", "Stream-Closed: true").status).To(Equal(http.StatusNoContent))
		got := ask(ctx, http.MethodGet, stream, whole, "", "If-None-Match: "+open)
		Expect(got.status).To(Equal(http.StatusOK))
		Expect(got.header.Get("Stream-Closed")).To(Equal("true"))
		closed := got.header.Get("ETag")
		Expect(closed).NotTo(Equal(open))
		transferOnce(ctx, stream, 2)
		Expect(ask(ctx, http.MethodGet, stream, whole, "", "If-None-Match: "+closed).status).To(Equal(http.StatusNotModified))
		Expect(ask(ctx, http.MethodGet, stream, whole, "", "If-None-Match: "+open).status).To(Equal(http.StatusOK))
	}, SpecTimeout(restartLimit))

	It("keeps every offset", func(ctx SpecContext) {
		const stream = "offsets"
		create(ctx, stream)
		offsets := []string{"-1"}
		whole := ""
		check := func() {
			GinkgoHelper()
			Expect(ask(ctx, http.MethodHead, stream, "", "").header.Get("Stream-Next-Offset")).To(Equal(offsets[len(offsets)-1]))
			for i, offset := range offsets {
				got := ask(ctx, http.MethodGet, stream, "?offset="+offset, "")
				Expect(got.body).To(Equal(whole[i:]), "from offset %s", offset)
				Expect(got.header.Get("Stream-Next-Offset")).To(Equal(offsets[len(offsets)-1]))
			}
		}
		for i, change := range changes {
			text := string(rune('a' + i))
			whole += text
			offsets = append(offsets, post(ctx, stream, text, http.StatusNoContent).header.Get("Stream-Next-Offset"))
			check()
			By(change.what)
			change.do(ctx, stream)
			check()
		}
	}, SpecTimeout(restartLimit))

	It("knows a producer's repetitions, stale epochs and gaps", func(ctx SpecContext) {
		const stream = "producers"
		create(ctx, stream)
		as := func(epoch, seq int) []string {
			return []string{"Producer-Id: writer", fmt.Sprintf("Producer-Epoch: %d", epoch), fmt.Sprintf("Producer-Seq: %d", seq)}
		}
		post(ctx, stream, "0", http.StatusOK, as(3, 0)...)
		for i, change := range changes {
			By(change.what)
			change.do(ctx, stream)
			post(ctx, stream, fmt.Sprint(i), http.StatusNoContent, as(3, i)...)
			post(ctx, stream, "0", http.StatusNoContent, as(3, 0)...)
			stale := post(ctx, stream, "x", http.StatusForbidden, as(2, i+1)...)
			Expect(stale.header.Get("Producer-Epoch")).To(Equal("3"))
			gap := post(ctx, stream, "x", http.StatusConflict, as(3, i+2)...)
			Expect(gap.header.Get("Producer-Expected-Seq")).To(Equal(fmt.Sprint(i + 1)))
			post(ctx, stream, fmt.Sprint(i+1), http.StatusOK, as(3, i+1)...)
		}
		Expect(ask(ctx, http.MethodPost, stream, "", "", "Stream-Closed: true").status).To(Equal(http.StatusNoContent))
		transferOnce(ctx, stream, 2)
		post(ctx, stream, "4", http.StatusNoContent, as(3, 4)...)
		post(ctx, stream, "x", http.StatusConflict, as(3, 5)...)
		Expect(ask(ctx, http.MethodGet, stream, "?offset=-1", "").body).To(Equal("01234"))
	}, SpecTimeout(restartLimit))

	// The time to live is long enough for a busy machine not to let a stream expire by itself.
	const timeToLive, margin = 12 * time.Second, 2 * time.Second

	It("lets no transfer renew a time to live", func(ctx SpecContext) {
		const stream = "ttl-runs-on"
		create(ctx, stream, fmt.Sprintf("Stream-TTL: %d", int(timeToLive.Seconds())))
		post(ctx, stream, "one", http.StatusNoContent)
		accessed := time.Now()
		letRun(ctx, timeToLive/2)
		transferOnce(ctx, stream, 0)
		transferred := time.Now()
		Eventually(ctx, func() int { return ask(ctx, http.MethodHead, stream, "", "").status }).
			WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Equal(http.StatusNotFound))
		Expect(time.Since(accessed)).To(BeNumerically(">", timeToLive-margin))
		Expect(time.Since(transferred)).To(BeNumerically("<", timeToLive-margin))
	}, SpecTimeout(restartLimit))

	It("carries the last read and the last append over, from which a time to live runs", func(ctx SpecContext) {
		const stream = "ttl-slides"
		create(ctx, stream, fmt.Sprintf("Stream-TTL: %d", int(timeToLive.Seconds())))
		for i := range 4 {
			letRun(ctx, timeToLive/3)
			Expect(ask(ctx, http.MethodGet, stream, "?offset=-1", "").status).To(Equal(http.StatusOK))
			transferOnce(ctx, stream, i)
		}
		letRun(ctx, timeToLive/3)
		Expect(ask(ctx, http.MethodHead, stream, "", "").status).To(Equal(http.StatusOK))
	}, SpecTimeout(restartLimit))
})

// letRun lets time pass: it is what a time to live is made of, so it is no wait for anything.
func letRun(ctx context.Context, duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
}
