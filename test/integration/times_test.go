package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// A component that cannot decode one Stream reads no Stream at all: its list fails as a whole. So the API server must refuse whatever
// Go's decoding does, though its own formats of durations and times take more.
var _ = Describe("Durations, times and media types of a stream", func() {
	create := func(ctx context.Context, spec map[string]any) (client.Object, error) {
		streams++
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Stream"))
		object.SetNamespace("default")
		object.SetName(fmt.Sprintf("stream-%d", streams))
		return object, api.Create(ctx, object)
	}
	specs := func(field, value string) map[string]any {
		if field == "age" {
			return map[string]any{"retention": map[string]any{"age": value}}
		}
		return map[string]any{field: value}
	}

	for field, values := range map[string][]string{
		"ttl":         {"banana", "", "3 days", "1d", "5", "-5s", "+5s", "1h -5m", "9999999999999h", "2562048h", "1 h"},
		"age":         {"banana", "", "3 days", "1d", "5", "-5s", "+5s", "1h -5m", "9999999999999h", "2562048h", "1 h"},
		"expiresAt":   {"soon", "", "2030-01-31", "2030-01-31T12:00:00.Z", "2030-01-31T12:00:00.0000000000Z", "2030-01-31T12:00:00,5Z", "2030-01-31t12:00:00.000000z", "2030-01-31T12:00:00x000000Z", "2030-01-31T12:00:00.000000", "2030-02-30T12:00:00.000000Z", "2030-01-31T12:00:00.000000+99:99"},
		"contentType": {"", "json", "/json", "application/", "application/json/x", "application; charset=utf-8", "a b/c"},
	} {
		for _, value := range values {
			It(fmt.Sprintf("refuses %q as %s", value, field), func(ctx SpecContext) {
				_, err := create(ctx, specs(field, value))
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			})
		}
	}
	for field, values := range map[string][]string{
		"ttl":         {"0s", "1h30m", "1.5h", "500ms", "1h0m0s", "100µs", "100us", "2562047h"},
		"age":         {"0s", "1h30m", "2562047h"},
		"contentType": {"application/json", "text/plain; charset=utf-8", "text/plain ;charset=utf-8", "application/vnd.a+json", "Text/X-1"},
		"expiresAt": {
			"2030-01-31T12:00:00Z", "2030-01-31T12:00:00.5Z", "2030-01-31T12:00:00.123456789Z", "2030-01-31T12:00:00.123456+14:00",
			"2030-01-31T12:00:00-05:00", "0001-01-01T00:00:00Z",
		},
	} {
		for _, value := range values {
			It(fmt.Sprintf("takes %q as %s, and it can be read", value, field), func(ctx SpecContext) {
				object, err := create(ctx, specs(field, value))
				Expect(err).NotTo(HaveOccurred())
				Expect(api.Get(ctx, client.ObjectKeyFromObject(object), &v1alpha1.Stream{})).To(Succeed())
			})
		}
	}

	for _, field := range []string{"deadlineSeconds", "ttlSecondsAfterFinished"} {
		It("are refused as "+field+" of a transfer where they do not fit its type", func(ctx SpecContext) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"stream": "s", "target": "t", field: int64(1) << 40}}}
			object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("StreamTransfer"))
			object.SetNamespace("default")
			object.SetName("of-many-seconds")
			err := api.Create(ctx, object)
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		})
	}
})
