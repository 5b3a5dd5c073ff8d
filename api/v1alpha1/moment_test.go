package v1alpha1

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAMomentIsReadAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]string{
		`"2030-01-31T12:00:00Z"`:           `"2030-01-31T12:00:00.000000Z"`,
		`"2030-01-31T12:00:00.5Z"`:         `"2030-01-31T12:00:00.500000Z"`,
		`"2030-01-31T12:00:00.123456789Z"`: `"2030-01-31T12:00:00.123456Z"`,
		`"2030-01-31T12:00:00.000001Z"`:    `"2030-01-31T12:00:00.000001Z"`,
		`"2030-01-31T12:00:00+14:00"`:      `"2030-01-30T22:00:00.000000Z"`,
		`null`:                             `null`,
		`"soon"`:                           "",
		`""`:                               "",
		`7`:                                "",
	} {
		var moment Moment
		if err := json.Unmarshal([]byte(text), &moment); err != nil {
			if want != "" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		got, err := json.Marshal(moment)
		if err != nil || string(got) != want {
			t.Errorf("%s is written as %s, want %s (%v)", text, got, want, err)
		}
	}
}

// Streams go through the libraries' converter and comparison, which know the types of Kubernetes only.
func TestAStreamWithAMomentIsConvertedAndCompared(t *testing.T) {
	content := map[string]any{"spec": map[string]any{"expiresAt": "2030-01-31T12:00:00.5Z"}}
	var stream Stream
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &stream); err != nil {
		t.Fatal(err)
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := back["spec"].(map[string]any)["expiresAt"]; got != "2030-01-31T12:00:00.500000Z" { //nolint:forcetypeassert // a test's own
		t.Errorf("it is converted to %v", got)
	}
	if !equality.Semantic.DeepEqual(&stream.Spec, stream.Spec.DeepCopy()) {
		t.Error("a copy is not equal")
	}
	later := stream.Spec.DeepCopy()
	*later.ExpiresAt = NewMoment(later.ExpiresAt.Add(1))
	if !equality.Semantic.DeepEqual(&stream.Spec, later) {
		t.Error("a nanosecond makes a difference, which no component writes")
	}
}
