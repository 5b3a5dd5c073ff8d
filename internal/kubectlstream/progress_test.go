package kubectlstream

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBar(t *testing.T) {
	for name, c := range map[string]struct {
		progress progress
		width    int
		want     string
	}{
		"a wide terminal":     {progress{"node-a", 12, 40, 0, 28 * time.Second}, 200, "node-a [============>                           ] 12/40, about 28s left"},
		"80 columns":          {progress{"node-a", 12, 40, 3, 28 * time.Second}, 80, "node-a [===========>                         ] 12/40, 3 blocked, about 28s left"},
		"nothing yet":         {progress{"node-a", 0, 40, 0, 0}, 40, "node-a [>                        ] 0/40"},
		"all":                 {progress{"node-a", 40, 40, 0, 0}, 40, "node-a [========================] 40/40"},
		"of nothing":          {progress{"node-a", 0, 0, 0, 0}, 40, "node-a [==========================] 0/0"},
		"no room for a bar":   {progress{"node-a", 12, 40, 0, 0}, 23, "node-a 12/40"},
		"the smallest bar":    {progress{"node-a", 12, 40, 0, 0}, 26, "node-a [===>      ] 12/40"},
		"one column less":     {progress{"node-a", 12, 40, 0, 0}, 25, "node-a 12/40"},
		"no room for it all":  {progress{"node-a", 12, 40, 0, 0}, 6, "node-"},
		"a terminal of width": {progress{"node-a", 12, 40, 0, 0}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.progress.bar(c.width)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if len(got) >= c.width {
				t.Errorf("%d columns do not fit in %d", len(got), c.width)
			}
		})
	}
}

func TestProgressOf(t *testing.T) {
	early, blocked, uncounted := drainingNode("node-a"), blockedNode(28, 28), drainingNode("node-a")
	early.Status.Drain.StartedAt = before(2 * time.Second)
	uncounted.Status.Drain = nil
	for name, c := range map[string]struct {
		got, want progress
	}{
		"with an estimate":         {progressOf(new(drainingNode("node-a")), noon), progress{"node-a", 12, 40, 0, 28 * time.Second}},
		"too early for one":        {progressOf(&early, noon), progress{"node-a", 12, 40, 0, 0}},
		"blocked: nobody knows":    {progressOf(&blocked, noon), progress{"node-a", 12, 40, 28, 0}},
		"not counted by a manager": {progressOf(&uncounted, noon), progress{"node-a", 0, 40, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %+v, want %+v", c.got, c.want)
			}
		})
	}
}

func TestDisplay(t *testing.T) {
	show := func(width int) string {
		var out strings.Builder
		d := &display{out: &out, width: func() int { return width }}
		d.line("node/node-a cordoned")
		d.progress(progress{"node-a", 0, 2, 0, 0})
		d.progress(progress{"node-a", 0, 2, 0, 0}) // nothing new
		d.progress(progress{"node-a", 1, 2, 1, 0})
		d.line("default/stays stays")
		d.end()
		d.line("done")
		return out.String()
	}
	for name, c := range map[string]struct {
		width int
		want  string
	}{
		"in a pipe, plain lines": {0, "node/node-a cordoned\n" +
			"0 of 2 streams have left node-a\n" +
			"1 of 2 streams have left node-a, 1 cannot\n" +
			"default/stays stays\n" +
			"done\n"},
		"on a terminal, a bar below the lines": {40, "node/node-a cordoned\n" +
			"\r\x1b[Knode-a [>                         ] 0/2" +
			"\r\x1b[Knode-a [=======>       ] 1/2, 1 blocked" +
			"\r\x1b[Kdefault/stays stays\nnode-a [=======>       ] 1/2, 1 blocked" +
			"\ndone\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(c.width)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}
