package model

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// nodeNames by index; index 0 is no node.
var nodeNames = [...]string{"", "A", "B", "C"}

// register is Stream.status, small enough to be counted: nodes, transfers and states by index, 0 for none.
type register struct {
	node, epoch, state, pending, last, closed int8
	forced                                    bool
}

var stateNames = [...]v1alpha1.StreamState{"", v1alpha1.StreamOpening, v1alpha1.StreamOpen, v1alpha1.StreamClosed}

func (r register) String() string {
	text := fmt.Sprintf("node=%s epoch=%d %s", nodeNames[r.node], r.epoch, stateNames[r.state])
	if r.pending != 0 {
		text += fmt.Sprintf(" pending=%s", transfers[r.pending].name)
	}
	return text
}

// transfer is a StreamTransfer of the world.
type transfer struct {
	name   string
	target int8
	force  bool
}

// transfers by index; index 0 is none. A walk chooses one of the pairs.
var transfers [transferCount + 1]transfer

var (
	// contradicting transfers take the stream to two nodes; opposing ones to another node and back.
	contradicting = [transferCount + 1]transfer{{}, {name: "t1", target: 2}, {name: "t2", target: 3, force: true}}
	opposing      = [transferCount + 1]transfer{{}, {name: "t1", target: 2}, {name: "t2", target: 1, force: true}}
)

// stream returns the object that a register is the status of.
func (r register) stream() *v1alpha1.Stream {
	stream := &v1alpha1.Stream{Status: v1alpha1.StreamStatus{Node: nodeNames[r.node], Epoch: int64(r.epoch), State: stateNames[r.state]}}
	stream.Name, stream.UID = "s", "s"
	if r.pending != 0 {
		t := transfers[r.pending]
		stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{
			Name: t.name, UID: types.UID(t.name), Source: nodeNames[r.node], Target: nodeNames[t.target], Force: t.force,
		}
	}
	if r.last != 0 {
		t := transfers[r.last]
		stream.Status.LastTransfer = &v1alpha1.LastTransfer{
			Name: t.name, UID: types.UID(t.name), Target: nodeNames[t.target], Source: "x", ClosedEpoch: int64(r.closed), Forced: r.forced,
		}
	}
	return stream
}

func registerOf(status *v1alpha1.StreamStatus) register {
	r := register{node: indexOf(nodeNames[:], status.Node), epoch: int8(status.Epoch), state: indexOf(stateNames[:], status.State)} //nolint:gosec // small
	if p := status.PendingTransfer; p != nil {
		r.pending = transferNamed(p.Name)
	}
	if l := status.LastTransfer; l != nil {
		r.last, r.closed, r.forced = transferNamed(l.Name), int8(l.ClosedEpoch), l.Forced //nolint:gosec // small
	}
	return r
}

func indexOf[T comparable](all []T, one T) int8 {
	for i, other := range all {
		if other == one {
			return int8(i)
		}
	}
	panic(fmt.Sprintf("%v is not in %v", one, all))
}

func transferNamed(name string) int8 {
	for i, t := range transfers {
		if t.name == name && i > 0 {
			return int8(i)
		}
	}
	panic("no transfer " + name)
}

// arbiter is the API server: it applies a patch, and refuses what the CRD's rules refuse.
type arbiter struct {
	rules *cel.Validator
	// mutate changes a patch before it is applied; nil for not. unruled leaves the CRD's rules out.
	mutate  func([]operation) []operation
	unruled bool
	memory  map[proposal]answer
}

// proposal is a step proposed on a register. The step is named by everything that its patch was made from.
type proposal struct {
	server, seen register
	step         string
	epoch        int8
	transfer     int8
}

type answer struct {
	register register
	taken    bool
}

type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// crdPath is the kind that is installed, from here.
const crdPath = "../../config/crd/bases/streamshift.io_streams.yaml"

// newArbiter reads the rules from the CRD that is installed.
func newArbiter() (*arbiter, error) {
	content, err := os.ReadFile(crdPath)
	if err != nil {
		return nil, fmt.Errorf("reading the CRD: %w", err)
	}
	external := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, external); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	schema := external.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return &arbiter{rules: cel.NewValidator(structural, true, celconfig.PerCallLimit), memory: map[proposal]answer{}}, nil
}

// propose returns the register after a step was proposed on it, and whether it was taken.
func (a *arbiter) propose(p proposal, step handoff.Step) (register, bool) {
	known, found := a.memory[p]
	if !found {
		known = a.apply(p.server, p.server.stream(), step)
		a.memory[p] = known
	}
	return known.register, known.taken
}

// apply patches an object whose status is a register, as the server does.
func (a *arbiter) apply(server register, old *v1alpha1.Stream, step handoff.Step) answer {
	refused := answer{register: server}
	document := must(json.Marshal(old))
	patch := step.Patch
	if a.mutate != nil {
		var operations []operation
		if err := json.Unmarshal(patch, &operations); err != nil {
			panic(err)
		}
		patch = must(json.Marshal(a.mutate(operations)))
	}
	patched, err := applyPatch(document, patch)
	if err != nil {
		return refused
	}
	if !a.unruled && len(a.refusals(decoded(document), decoded(patched))) > 0 {
		return refused
	}
	stream := &v1alpha1.Stream{}
	if err := json.Unmarshal(patched, stream); err != nil {
		panic(err)
	}
	return answer{register: registerOf(&stream.Status), taken: true}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func applyPatch(document, patch []byte) ([]byte, error) {
	return must(jsonpatch.DecodePatch(patch)).Apply(document)
}

// decoded is a document as the API server has it: this decoder makes whole numbers integers, as CEL wants them.
func decoded(document []byte) map[string]any {
	var object map[string]any
	if err := utiljson.Unmarshal(document, &object); err != nil {
		panic(err)
	}
	return object
}

// refusals are what the CRD's rules say against a change.
func (a *arbiter) refusals(old, object map[string]any) field.ErrorList {
	errs, _ := a.rules.Validate(context.Background(), nil, nil, object, old, celconfig.RuntimeCELCostBudget)
	return errs
}
