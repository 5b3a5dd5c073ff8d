package integration

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// ways are all ways in which a client can ask for a status, given the stream as it is and as it shall be.
var ways = map[string]func(ctx context.Context, before, wanted *v1alpha1.Stream) error{
	"by PUT": func(ctx context.Context, _, wanted *v1alpha1.Stream) error { return api.Status().Update(ctx, wanted) },
	"by merge patch": func(ctx context.Context, before, wanted *v1alpha1.Stream) error {
		return api.Status().Patch(ctx, wanted, client.MergeFrom(before))
	},
	"by JSON patch": func(ctx context.Context, _, wanted *v1alpha1.Stream) error {
		return patchStatus(ctx, wanted, types.JSONPatchType, []map[string]any{{"op": "replace", "path": "/status", "value": wanted.Status}})
	},
	"by server-side apply": func(ctx context.Context, _, wanted *v1alpha1.Stream) error {
		return apply(ctx, wanted, wanted.Status)
	},
}

// patchStatus sends a patch of the status subresource as it is.
func patchStatus(ctx context.Context, stream *v1alpha1.Stream, kind types.PatchType, patch any, options ...client.SubResourcePatchOption) error {
	content, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return api.Status().Patch(ctx, stream.DeepCopy(), client.RawPatch(kind, content), options...)
}

// absent is a status that is not there, where nil is one that is null.
type absent struct{}

// apply sends a whole configuration of the status, as one who takes what others own.
func apply(ctx context.Context, stream *v1alpha1.Stream, status any) error {
	object := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Stream",
		"metadata": map[string]any{"namespace": stream.Namespace, "name": stream.Name},
	}
	if status != (absent{}) {
		object["status"] = status
	}
	return patchStatus(ctx, stream, types.ApplyPatchType, object, client.FieldOwner("hostile"), client.ForceOwnership)
}

// put sends the object with a status of any form.
func put(ctx context.Context, stream *v1alpha1.Stream, status any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stream)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Stream"))
	if delete(content, "status"); status != (absent{}) {
		content["status"] = status
	}
	return api.Status().Update(ctx, object)
}

// The rules that compare a field with what it was are skipped where either is absent. So nothing that a rule needs may be absent.
var _ = Describe("A field of the register", func() {
	DescribeTable("cannot be taken away",
		func(ctx SpecContext, steps []func(*v1alpha1.Stream) handoff.Step, field, rule string) {
			stream := take(ctx, newStream(ctx), steps...)
			status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&stream.Status)
			Expect(err).NotTo(HaveOccurred())
			Expect(status).To(HaveKey(field))
			without := runtime.DeepCopyJSON(status)
			delete(without, field)
			null := runtime.DeepCopyJSON(status)
			null[field] = nil
			for way, err := range map[string]error{
				"a PUT without it":         put(ctx, stream, without),
				"a PUT with null":          put(ctx, stream, null),
				"a merge patch to null":    patchStatus(ctx, stream, types.MergePatchType, map[string]any{"status": map[string]any{field: nil}}),
				"a JSON patch removing it": patchStatus(ctx, stream, types.JSONPatchType, []map[string]any{{"op": "remove", "path": "/status/" + field}}),
				"a JSON patch to null":     patchStatus(ctx, stream, types.JSONPatchType, []map[string]any{{"op": "add", "path": "/status/" + field, "value": nil}}),
				"an apply without it":      apply(ctx, stream, without),
				"an apply with null":       apply(ctx, stream, null),
			} {
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", way, err)
				Expect(err).To(MatchError(Or(ContainSubstring(rule), ContainSubstring("must be of type"))), way)
			}
			after := &v1alpha1.Stream{}
			Expect(api.Get(ctx, client.ObjectKeyFromObject(stream), after)).To(Succeed())
			Expect(after.Status).To(Equal(stream.Status))
		},
		Entry("the owner", walk(place, opened), "node", "a stream that has an owner keeps one"),
		Entry("the owner while a transfer is pending", walk(place, opened, accept), "node", "a stream that has an owner keeps one"),
		Entry("the epoch", walk(place, opened), "epoch", "epoch never decreases"),
		Entry("the state of a stream that is opening", walk(place), "state", "never back"),
		Entry("the state of an open stream", walk(place, opened), "state", "never back"),
		Entry("the state of a closed stream", walk(place, opened, closed), "state", "never back"),
		Entry("the last transfer", walk(place, opened, accept, complete), "lastTransfer", "lastTransfer is written by a completion only"),
		Entry("where the log was opened", walk(place, opened), "openedLog", "openedLog is written by an opening only"),
	)

	DescribeTable("cannot be taken away with the whole status",
		func(ctx SpecContext, steps ...func(*v1alpha1.Stream) handoff.Step) {
			stream := take(ctx, newStream(ctx), steps...)
			changed := stream.Status.DeepCopy()
			changed.Conditions = nil
			Expect(apply(ctx, stream, changed)).To(Succeed(), "a legal change, which makes the hostile client the only owner of the status")
			owned := &v1alpha1.Stream{}
			Expect(api.Get(ctx, client.ObjectKeyFromObject(stream), owned)).To(Succeed())
			empty := map[string]any{}
			for way, err := range map[string]error{
				"a PUT without it":         put(ctx, owned, absent{}),
				"a PUT of null":            put(ctx, owned, nil),
				"a PUT of an empty one":    put(ctx, owned, empty),
				"a merge patch to null":    patchStatus(ctx, owned, types.MergePatchType, map[string]any{"status": nil}),
				"a JSON patch removing it": patchStatus(ctx, owned, types.JSONPatchType, []map[string]any{{"op": "remove", "path": "/status"}}),
				"a JSON patch to null":     patchStatus(ctx, owned, types.JSONPatchType, []map[string]any{{"op": "replace", "path": "/status", "value": nil}}),
				"a JSON patch to an empty": patchStatus(ctx, owned, types.JSONPatchType, []map[string]any{{"op": "replace", "path": "/status", "value": empty}}),
				"an apply without it":      apply(ctx, owned, absent{}),
				"an apply of null":         apply(ctx, owned, nil),
				"an apply of an empty one": apply(ctx, owned, empty),
			} {
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", way, err)
			}
			after := &v1alpha1.Stream{}
			Expect(api.Get(ctx, client.ObjectKeyFromObject(stream), after)).To(Succeed())
			Expect(after.Status).To(Equal(owned.Status))
		},
		Entry("of a stream that is opening", place),
		Entry("of an open stream", place, opened),
		Entry("of a stream whose transfer is pending", place, opened, accept),
		Entry("of a stream that was transferred", place, opened, accept, complete),
	)

	DescribeTable("cannot be written through the object itself",
		func(ctx SpecContext, kind types.PatchType, patch string, options ...client.PatchOption) {
			stream := take(ctx, newStream(ctx), place, opened, accept)
			changed := stream.DeepCopy()
			Expect(api.Patch(ctx, changed, client.RawPatch(kind, []byte(patch)), options...)).To(Succeed())
			Expect(changed.Status).To(Equal(stream.Status))
		},
		Entry("by merge patch", types.MergePatchType, `{"status":{"node":"node-z","epoch":99}}`),
		Entry("by merge patch to null", types.MergePatchType, `{"status":null}`),
		Entry("by JSON patch", types.JSONPatchType, `[{"op":"replace","path":"/status/epoch","value":99}]`),
		Entry("by JSON patch removing it", types.JSONPatchType, `[{"op":"remove","path":"/status"}]`),
		Entry("by server-side apply", types.ApplyPatchType,
			`{"apiVersion":"streamshift.io/v1alpha1","kind":"Stream","status":{"node":"node-z","epoch":99}}`, client.FieldOwner("hostile"), client.ForceOwnership),
	)

	It("cannot be given at the creation", func(ctx SpecContext) {
		owned := v1alpha1.StreamStatus{Node: "node-z", Epoch: 99, State: v1alpha1.StreamOpen}
		streams++
		stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("stream-%d", streams)}, Status: owned}
		Expect(apierrors.IsNotFound(apply(ctx, stream, owned))).To(BeTrue(), "a status makes no stream")
		Expect(api.Create(ctx, stream)).To(Succeed())
		Expect(stream.Status).To(Equal(v1alpha1.StreamStatus{ObservedGeneration: -1}))
		take(ctx, stream, place, opened)
	})
})
