package durablestreams

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// split returns the messages of a body that is not empty, as slices of it. A JSON array is flattened by one level; the
// bytes of each message stay as they were sent. There is none where the body is an empty array.
func split(body []byte, as encoding, maxMessages int) ([][]byte, *Problem) {
	if as != encodingJSON {
		return [][]byte{body}, nil
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return nil, invalid("The body is not valid JSON.")
	}
	messages, ok := flatten(body, maxMessages)
	if !ok {
		return nil, beyondLimit(http.StatusRequestEntityTooLarge, "The batch has more than the limit of %d messages.", maxMessages)
	}
	return messages, nil
}

// flatten returns the elements of a JSON array, or the one value that is none, without the white space around them. It
// returns false where there are more than limit. The text must be valid JSON.
func flatten(text []byte, limit int) ([][]byte, bool) {
	text = trimSpace(text)
	if text[0] != '[' {
		return [][]byte{text}, true
	}
	var elements [][]byte
	inner := text[1 : len(text)-1]
	for len(trimSpace(inner)) > 0 {
		if len(elements) == limit {
			return nil, false
		}
		end := elementEnd(inner)
		elements = append(elements, trimSpace(inner[:end]))
		inner = inner[min(end+1, len(inner)):] // behind the comma
	}
	return elements, true
}

// elementEnd returns where the first element of comma-separated JSON values ends: at its comma, or at the end.
func elementEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		case '"':
			i = stringEnd(text, i)
		}
	}
	return len(text)
}

// stringEnd returns the position of the quotation mark that ends the string that starts at position start.
func stringEnd(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// trimSpace removes what JSON calls white space, and nothing else.
func trimSpace(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }
