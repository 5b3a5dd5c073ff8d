package kubectlstream

import (
	"strings"
	"testing"

	"github.com/streamshift/streamshift/internal/routing/streamname"
)

func TestObjectName(t *testing.T) {
	escaped, err := streamname.Object("Shop/Orders")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		argument, want string
		fails          bool
	}{
		"an object's name":                {"orders", "orders", false},
		"a name with dots":                {"orders.2026", "orders.2026", false},
		"a client's name":                 {"Shop/Orders", escaped, false},
		"a client's name, as it is shown": {escaped, escaped, false},
		"the longest client's name":       {strings.Repeat("A", streamname.MaxEscapedBytes), "x--", false},
		"one byte longer":                 {strings.Repeat("A", streamname.MaxEscapedBytes+1), "", true},
		"an empty name":                   {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := objectName(c.argument)
			if (err != nil) != c.fails {
				t.Fatalf("error %v", err)
			}
			if !strings.HasPrefix(got, c.want) || (c.want != "x--" && got != c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestShownName(t *testing.T) {
	object := func(name string) string {
		object, err := streamname.Object(name)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	for name, c := range map[string]struct{ object, want string }{
		"an object's name":               {"orders", "orders"},
		"a client's name":                {object("Shop/Orders"), "Shop/Orders"},
		"letters of any language":        {object("Bestellungen/Köln"), "Bestellungen/Köln"},
		"a name with a space":            {object("two words"), object("two words")},
		"a name that commands terminals": {object("\x1b[2J"), object("\x1b[2J")},
		"a name that is no text":         {object("\xff"), object("\xff")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shownName(c.object); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestThose(t *testing.T) {
	names := strings.Split("k j i h g f e d c b a", " ")
	for name, c := range map[string]struct {
		names []string
		want  string
	}{
		"none":              {nil, "none"},
		"as many as listed": {names[1:], "a, b, c, d, e, f, g, h, i, j"},
		"one more":          {names, "a, b, c, d, e, f, g, h, i, j and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := those(append([]string(nil), c.names...)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
