package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/timeline"
)

// Ways to show text on a terminal.
const (
	plain = "0"
	bold  = "1"
	dim   = "2"
	green = "32"
	red   = "31"
)

// printer writes for people: with colours on a terminal, without anywhere else or where NO_COLOR is set.
type printer struct {
	out     io.Writer
	colours bool
}

func newPrinter(file *os.File) *printer {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &printer{out: file, colours: terminal && os.Getenv("NO_COLOR") == ""}
}

// Write takes the progress of whatever is started: each line is shown dim.
func (p *printer) Write(text []byte) (int, error) {
	p.line(dim, "  %s", string(trimLineEnd(text)))
	return len(text), nil
}

func trimLineEnd(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] == '\n' {
		return text[:len(text)-1]
	}
	return text
}

func (p *printer) line(style, format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if p.colours && style != plain {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	_, _ = fmt.Fprintln(p.out, text)
}

func (p *printer) heading(format string, arguments ...any) {
	p.line(plain, "")
	p.line(bold, format, arguments...)
}

// timeline shows the steps of a transfer, counted from the moment at which it was accepted.
func (p *printer) timeline(line timeline.Timeline, quiet time.Duration) {
	steps := []struct {
		at   time.Time
		what string
	}{
		{line.Accepted, "accepted by the manager"},
		{line.Stopped, fmt.Sprintf("%s stopped taking appends", line.Source)},
		{line.Closed, fmt.Sprintf("%s flushed and closed the stream at epoch %d", line.Source, line.Epoch)},
		{line.Committed, fmt.Sprintf("%s committed: the stream belongs to %s", line.Source, line.Target)},
		{line.Opened, fmt.Sprintf("%s opened the stream at epoch %d", line.Target, line.Epoch+1)},
		{line.Gap.After, "first append acknowledged by " + line.Target},
	}
	for _, step := range steps {
		p.line(plain, "  %9s  %s", milliseconds(step.at.Sub(line.Accepted)), step.what)
	}
	p.line(bold, "  %9s  window: nobody's append was acknowledged for that long", milliseconds(line.Gap.Length()))
	p.line(dim, "  %9s  the longest such time in the half second before, without a transfer", milliseconds(quiet))
}

func milliseconds(duration time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(duration)/float64(time.Millisecond))
}

// tally shows the count; what must be 0 is green where it is, else red.
func (p *printer) tally(tally load.Tally) {
	p.line(plain, "  %9d  records appended and acknowledged", tally.Appended)
	p.line(plain, "  %9d  records read along", tally.Read)
	for _, fault := range []struct {
		count int
		what  string
	}{
		{tally.Lost, "lost"},
		{tally.Duplicated, "duplicated"},
		{tally.Reordered, "out of order"},
		{tally.Foreign, "that nobody appended"},
		{tally.Failed, "requests failed"},
	} {
		style := green
		if fault.count != 0 {
			style = red
		}
		p.line(style, "  %9d  %s", fault.count, fault.what)
	}
}
