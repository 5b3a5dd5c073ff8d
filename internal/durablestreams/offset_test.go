package durablestreams

import (
	"math"
	"slices"
	"testing"

	"github.com/streamshift/streamshift/internal/engine"
)

func TestParseOffset(t *testing.T) {
	for name, tc := range map[string]struct {
		token  string
		want   engine.Offset
		wantOK bool
	}{
		"the first position":                 {token: "0000000000000000000", want: 0, wantOK: true},
		"the last position there can be":     {token: "9223372036854775807", want: math.MaxInt64, wantOK: true},
		"one beyond the last":                {token: "9223372036854775808"},
		"one digit short":                    {token: "000000000000000000"},
		"one digit long":                     {token: "00000000000000000000"},
		"empty":                              {token: ""},
		"a sign":                             {token: "-000000000000000001"},
		"a plus":                             {token: "+000000000000000001"},
		"white space":                        {token: " 000000000000000001"},
		"an underscore, which Go would take": {token: "0000000000000000_01"},
		"the sentinel of the beginning":      {token: "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseOffset(tc.token)
			if ok != tc.wantOK || (ok && got != tc.want) {
				t.Errorf("ParseOffset(%q) = %d, %t, want %d, %t", tc.token, got, ok, tc.want, tc.wantOK)
			}
		})
	}
}

func TestOffsetTokensSortAsPositions(t *testing.T) {
	positions := []engine.Offset{0, 1, 9, 10, 11, 99, 100, 1 << 31, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}
	var tokens []string
	for _, o := range positions {
		token := FormatOffset(o)
		tokens = append(tokens, token)
		if got, ok := ParseOffset(token); !ok || got != o {
			t.Errorf("position %d has token %q, which is read as %d, %t", o, token, got, ok)
		}
	}
	if !slices.IsSorted(tokens) {
		t.Errorf("tokens do not sort as positions: %q", tokens)
	}
}
