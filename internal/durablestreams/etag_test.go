package durablestreams

import (
	"testing"

	"github.com/streamshift/streamshift/internal/engine"
)

func TestETagChangesWithTheAnswer(t *testing.T) {
	answers := map[string]struct {
		id    string
		batch engine.Batch
	}{
		"a chunk before the tail":            {id: "a", batch: engine.Batch{From: 0, Next: 5, Tail: 9}},
		"the same range at the tail":         {id: "a", batch: engine.Batch{From: 0, Next: 5, Tail: 5}},
		"the same range of a closed stream":  {id: "a", batch: engine.Batch{From: 0, Next: 5, Tail: 5, StreamClosed: true}},
		"a longer range":                     {id: "a", batch: engine.Batch{From: 0, Next: 9, Tail: 9}},
		"the rest of the range":              {id: "a", batch: engine.Batch{From: 5, Next: 9, Tail: 9}},
		"a stream created again by its name": {id: "b", batch: engine.Batch{From: 0, Next: 5, Tail: 5}},
	}
	seen := map[string]string{}
	for name, answer := range answers {
		tag := etag(answer.id, answer.batch)
		if other, taken := seen[tag]; taken {
			t.Errorf("%s and %s have the same tag %s", name, other, tag)
		}
		seen[tag] = name
	}
	before := etag("a", engine.Batch{From: 0, Next: 5, Tail: 9, StreamClosed: true})
	if want := etag("a", engine.Batch{From: 0, Next: 5, Tail: 9}); before != want {
		t.Errorf("closing changed the tag of a chunk before the tail from %s to %s", want, before)
	}
}

func TestETagMatches(t *testing.T) {
	const tag = `"a:0:5:tail"`
	for name, tc := range map[string]struct {
		header string
		want   bool
	}{
		"absent":                    {header: ""},
		"the tag":                   {header: tag, want: true},
		"weakened by a proxy":       {header: "W/" + tag, want: true},
		"one of several":            {header: `"x", ` + tag, want: true},
		"any":                       {header: "*", want: true},
		"another":                   {header: `"a:0:5:closed"`},
		"the tag without its marks": {header: "a:0:5:tail"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := etagMatches(tc.header, tag); got != tc.want {
				t.Errorf("etagMatches(%q) = %t, want %t", tc.header, got, tc.want)
			}
		})
	}
}
