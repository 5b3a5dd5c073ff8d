package kubectlstream

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// progress is how far a drain is.
type progress struct {
	node                  string
	moved, total, blocked int32
	// left is an estimate of how long it still takes; 0: nobody knows.
	left time.Duration
}

// progressOf reads the counters of a node.
func progressOf(node *v1alpha1.StreamNode, now time.Time) progress {
	drain := node.Status.Drain
	if drain == nil {
		return progress{node: node.Name, total: node.Status.Streams}
	}
	p := progress{node: node.Name, moved: drain.Moved, total: drain.Total, blocked: drain.Blocked}
	// StartedAt is in whole seconds: what lasts less than a few of them has no estimate.
	if elapsed := now.Sub(drain.StartedAt.Time); elapsed >= 3*time.Second && p.moved > 0 && p.blocked < drain.Remaining {
		p.left = (elapsed / time.Duration(p.moved) * time.Duration(drain.Remaining-p.blocked)).Round(time.Second)
	}
	return p
}

// text is the progress in words.
func (p progress) text() string {
	text := fmt.Sprintf("%d of %d streams have left %s", p.moved, p.total, p.node)
	if p.blocked > 0 {
		text += fmt.Sprintf(", %d cannot", p.blocked)
	}
	return text
}

const (
	// maxBar is the number of columns of the longest bar, minBar of the shortest that is worth drawing.
	maxBar = 40
	minBar = 10
)

// bar draws the progress for a terminal of that many columns; it never fills the last one, where terminals wrap.
func (p progress) bar(width int) string {
	label := fmt.Sprintf(" %d/%d", p.moved, p.total)
	if p.blocked > 0 {
		label += fmt.Sprintf(", %d blocked", p.blocked)
	}
	if p.left > 0 {
		label += fmt.Sprintf(", about %s left", p.left)
	}
	room := width - 1 - len(p.node) - len(" []") - len(label)
	if room < minBar {
		return cut(p.node+label, width-1)
	}
	columns := min(room, maxBar)
	full := columns
	if p.total > 0 {
		full = columns * int(p.moved) / int(p.total)
	}
	bar := strings.Repeat("=", full)
	if full < columns {
		bar += ">" + strings.Repeat(" ", columns-full-1)
	}
	return p.node + " [" + bar + "]" + label
}

func cut(text string, width int) string { return text[:max(0, min(len(text), width))] }

// eraseLine goes to the begin of a terminal's line and erases it.
const eraseLine = "\r\x1b[K"

// display shows progress and lines: on a terminal one bar, below the lines, that is drawn anew; elsewhere plain lines only.
type display struct {
	out io.Writer
	// width is the terminal's; 0: there is none.
	width func() int
	// drawn is what stands in the last line of the terminal, told the last progress that was printed as a line.
	drawn, told string
}

// progress shows how far the drain is, where that is new.
func (d *display) progress(p progress) {
	width := d.width()
	if width == 0 {
		if text := p.text(); text != d.told {
			d.told = text
			fmt.Fprintln(d.out, text)
		}
		return
	}
	if bar := p.bar(width); bar != d.drawn {
		d.drawn = bar
		fmt.Fprint(d.out, eraseLine+bar)
	}
}

// line prints a line above the bar.
func (d *display) line(text string) {
	if d.drawn == "" {
		fmt.Fprintln(d.out, text)
		return
	}
	fmt.Fprint(d.out, eraseLine+text+"\n"+d.drawn)
}

// end leaves the bar where it is, and goes on below it.
func (d *display) end() {
	if d.drawn != "" {
		d.drawn = ""
		fmt.Fprintln(d.out)
	}
}
