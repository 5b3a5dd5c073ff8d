package kubectlstream

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/streamshift/streamshift/internal/routing/streamname"
)

// objectName is the name of the Stream that a person means: the argument itself where it can be the name of an object, else the
// name of the object of the stream that clients know under it. "orders" and "Shop/Orders" both work, and so does what kubectl
// shows of the latter ("x--...").
func objectName(argument string) (string, error) {
	if streamname.Client(argument) != argument {
		return argument, nil // an escaped name, as kubectl shows it
	}
	name, err := streamname.Object(argument)
	if err != nil {
		return "", fmt.Errorf("%q cannot be the name of a stream: %w", argument, err)
	}
	return name, nil
}

// shownName is what people read, and may type, for a Stream: the name by which clients know it, or the object's name where that
// cannot be typed.
func shownName(object string) string {
	name := streamname.Client(object)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == unicode.ReplacementChar }) {
		return object
	}
	return name
}

// maxSuggestions is how many names an error lists.
const maxSuggestions = 10

// those lists names for a sentence, the first of them where there are many; none is "none".
func those(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	if more := len(names) - maxSuggestions; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxSuggestions], ", "), more)
	}
	return strings.Join(names, ", ")
}
