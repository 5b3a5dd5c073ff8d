package streamname

import (
	"errors"
	"strings"
	"testing"
)

func TestLongestEscapedNameFits(t *testing.T) {
	got, err := Object(strings.Repeat("A", MaxEscapedBytes))
	if err != nil {
		t.Fatalf("Object: %v", err)
	}
	if len(got) > MaxObjectBytes {
		t.Errorf("the object name has %d bytes, the limit is %d", len(got), MaxObjectBytes)
	}
}

func TestClientKeepsWhatNoClientMapsTo(t *testing.T) {
	for _, object := range []string{"x--", "x--zz", "x--85", "x--c5i66", "orders"} {
		if got := Client(object); got != object {
			t.Errorf("Client(%q) = %q, want it unchanged", object, got)
		}
	}
}

// FuzzObject: the map has an inverse, so no two names share an object, and every object name is a valid one.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{"orders", "a/b", "x--", "x--84", "Ä", "\x00", "a.b", "-", strings.Repeat("a", 254)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		object, err := Object(name)
		if err != nil {
			if !errors.Is(err, ErrBad) {
				t.Fatalf("Object(%q) error = %v", name, err)
			}
			return
		}
		if !isSubdomain(object) {
			t.Fatalf("Object(%q) = %q, which is no DNS-1123 subdomain", name, object)
		}
		if back := Client(object); back != name {
			t.Fatalf("Client(Object(%q)) = %q", name, back)
		}
	})
}
