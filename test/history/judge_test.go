package history

import (
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// sound is a history of two writers and a reader in which all is well: b/0 has no answer and is stored, b/1 was refused.
func sound() (History, []Record) {
	stored := []Record{{"a", 0}, {"b", 0}, {"a", 1}, {"a", 2}}
	return History{
		Appends: []Append{
			{Record{"a", 0}, 0, 2 * ms, Acknowledged, 1 * RecordBytes},
			{Record{"b", 0}, 1 * ms, 9 * ms, Unknown, 0},
			{Record{"a", 1}, 3 * ms, 5 * ms, Acknowledged, 3 * RecordBytes},
			{Record{"b", 1}, 10 * ms, 11 * ms, Refused, 0},
			{Record{"a", 2}, 6 * ms, 8 * ms, Acknowledged, 0},
		},
		Reads: []Read{
			{"r", 1 * ms, 4 * ms, 0, 2 * RecordBytes, stored[:2]},
			{"r", 5 * ms, 6 * ms, 2 * RecordBytes, 2 * RecordBytes, nil},
			{"r", 7 * ms, 9 * ms, 2 * RecordBytes, 4 * RecordBytes, stored[2:]},
		},
	}, stored
}

func TestJudgeFindsEachKindOfFault(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*History, *[]Record)
		want   string
	}{
		"all is well": {func(*History, *[]Record) {}, ""},
		"an acknowledged record is not stored": {func(h *History, s *[]Record) {
			*s = (*s)[:3]
			h.Reads = nil
		}, "loss: a/2"},
		"a record that was read is not stored": {func(h *History, s *[]Record) {
			*s = (*s)[:3]
			h.Appends[4].Outcome = Unknown
		}, "loss: r read up to"},
		"a record is stored twice":                 {func(_ *History, s *[]Record) { *s = append(*s, Record{"a", 1}) }, "duplicate: a/1"},
		"a refused record is stored":               {func(_ *History, s *[]Record) { *s = append(*s, Record{"b", 1}) }, "refused but stored: b/1"},
		"a record is stored that nobody sent":      {func(_ *History, s *[]Record) { *s = append(*s, Record{"c", 0}) }, "made up: c/0"},
		"a writer's records change places":         {func(_ *History, s *[]Record) { (*s)[2], (*s)[3] = (*s)[3], (*s)[2] }, "reorder: a/1"},
		"an answer names another offset":           {func(h *History, _ *[]Record) { h.Appends[2].End = 2 * RecordBytes }, "wrong offset: a/1"},
		"a writer's offsets go back":               {func(h *History, _ *[]Record) { h.Appends[4].End = 1 * RecordBytes }, "offset went back: a/2"},
		"a reader is sent back":                    {func(h *History, _ *[]Record) { h.Reads[1].Next = RecordBytes }, "offset went back: r"},
		"a reader sees another record":             {func(h *History, _ *[]Record) { h.Reads[0].Records = []Record{{"a", 0}, {"a", 1}} }, "read differs"},
		"a reader sees fewer records than told":    {func(h *History, _ *[]Record) { h.Reads[2].Records = h.Reads[2].Records[:1] }, "read differs"},
		"a fault that a client saw":                {func(h *History, _ *[]Record) { h.Faults = []string{"gap: a"} }, "gap: a"},
		"an append is stored before an older one":  {func(h *History, _ *[]Record) { h.Appends[1].Called = 7 * ms }, "reorder: a/1"},
		"a record is read before it was sent":      {func(h *History, _ *[]Record) { h.Reads[0].Returned = 0; h.Reads[0].Called = 0 }, "no order explains"},
		"a record is read before an older is sent": {func(h *History, _ *[]Record) { h.Reads[2].Called, h.Reads[2].Returned = 4*ms, 5*ms }, "no order explains"},
	} {
		t.Run(name, func(t *testing.T) {
			h, stored := sound()
			c.change(&h, &stored)
			wrong := strings.Join(Judge(h, stored), "\n")
			if c.want == "" && wrong != "" || !strings.Contains(wrong, c.want) {
				t.Errorf("found %q, want %q", wrong, c.want)
			}
		})
	}
}

// TestJudgeTakesLongHistories: each window of records is checked by itself.
func TestJudgeTakesLongHistories(t *testing.T) {
	const records = 3*window + 1
	var h History
	var stored []Record
	for i := range records {
		at := time.Duration(i) * ms
		r := Record{"a", i}
		stored = append(stored, r)
		h.Appends = append(h.Appends, Append{r, at, at + 3*ms/2, Acknowledged, 0})
		h.Reads = append(h.Reads, Read{"r", at, at + ms, int64(i) * RecordBytes, int64(i+1) * RecordBytes, []Record{r}})
	}
	if wrong := Judge(h, stored); len(wrong) > 0 {
		t.Errorf("found %v in a history in which all is well", wrong)
	}
	h.Reads[2*window].Returned = h.Reads[2*window].Called - ms
	h.Reads[2*window].Called -= 2 * ms
	if wrong := Judge(h, stored); len(wrong) != 1 || !strings.Contains(wrong[0], "no order explains") {
		t.Errorf("found %v, want one window without an order", wrong)
	}
}

func TestRecordsAreReadBackAsTheyWereWritten(t *testing.T) {
	want := []Record{{"w00", 0}, {"producer-9", 4711}}
	got, err := decodeRecords(append(want[0].encode(), want[1].encode()...))
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for name, data := range map[string]string{
		"half a record": "w00 00000", "no line": strings.Repeat("x", RecordBytes), "no number": "w00 x" + strings.Repeat(" ", RecordBytes-6) + "\n",
	} {
		if _, err := decodeRecords([]byte(data)); err == nil {
			t.Errorf("%s is taken for a record", name)
		}
	}
}
