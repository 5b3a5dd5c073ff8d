package durablestreams

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// writeDataEvent writes a data event with the messages as its payload. The bytes are
//
//	event: data\n
//	data:<line>\n   for each line of the payload
//	\n
//
// A binary payload is one line of base64. There is no space behind "data:", since clients remove one; a line that
// starts with a space gets a second one for them to remove. Errors stay with the writer.
func writeDataEvent(dst *bufio.Writer, messages [][]byte, as encoding) {
	_, _ = dst.WriteString("event: data\n")
	switch as {
	case encodingBytes:
		_, _ = dst.WriteString("data:")
		encoder := base64.NewEncoder(base64.StdEncoding, dst)
		for _, m := range messages {
			_, _ = encoder.Write(m)
		}
		_ = encoder.Close()
		_, _ = dst.WriteString("\n\n")
		return
	case encodingText:
		lines := lineWriter{dst: dst}
		for _, m := range messages {
			lines.write(m)
		}
		lines.end()
	case encodingJSON:
		lines := lineWriter{dst: dst}
		for i, m := range messages {
			lines.write([]byte{"[,"[min(i, 1)]})
			lines.write(m)
		}
		lines.write([]byte{']'})
		lines.end()
	}
}

// lineWriter writes text as the data lines of one event. A line ends at CRLF, LF or CR, wherever the text was cut into
// pieces; whatever the text holds, it cannot start a field or end the event.
type lineWriter struct {
	dst     *bufio.Writer
	started bool // the current line has its "data:"
	afterCR bool // the last byte was a CR: an LF that follows belongs to it
}

func (l *lineWriter) write(text []byte) {
	for len(text) > 0 {
		if l.afterCR && text[0] == '\n' {
			l.afterCR = false
			text = text[1:]
			continue
		}
		l.afterCR = false
		l.start(text[0])
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			_, _ = l.dst.Write(text)
			return
		}
		_, _ = l.dst.Write(text[:end])
		l.finish()
		l.afterCR = text[end] == '\r'
		text = text[end+1:]
	}
}

// start begins a line if none is begun; first is the byte that follows.
func (l *lineWriter) start(first byte) {
	if l.started {
		return
	}
	_, _ = l.dst.WriteString("data:")
	if first == ' ' {
		_ = l.dst.WriteByte(' ')
	}
	l.started = true
}

func (l *lineWriter) finish() {
	_ = l.dst.WriteByte('\n')
	l.started = false
}

// end writes the last line, which is empty where the text ended with a line end, and the end of the event.
func (l *lineWriter) end() {
	l.start('\n')
	l.finish()
	_ = l.dst.WriteByte('\n')
}

// incompleteRune returns how many bytes at the end of the messages are the start of a UTF-8 character whose other bytes
// are missing; 0 where the text ends with a whole character, or with bytes that are no UTF-8.
func incompleteRune(messages [][]byte) int {
	var tail [utf8.UTFMax - 1]byte // a character lacks at least one byte
	n := 0
	for i := len(messages) - 1; i >= 0 && n < len(tail); i-- {
		for j := len(messages[i]) - 1; j >= 0 && n < len(tail); j-- {
			n++
			tail[len(tail)-n] = messages[i][j]
			if utf8.RuneStart(messages[i][j]) {
				if utf8.FullRune(tail[len(tail)-n:]) {
					return 0
				}
				return n
			}
		}
	}
	return 0
}
