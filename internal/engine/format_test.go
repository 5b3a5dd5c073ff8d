package engine

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples are one object of each kind, which the fuzz targets and the tests of flipped bits begin with.
func sampleEntries() []entry {
	return []entry{
		{kind: entryAppend, append: Append{Create: true, Messages: messages("a", "bc")}},
		{kind: entryAppend, append: Append{Messages: messages("def"), Producer: &Producer{ID: "p", Epoch: 3, Seq: 300}, Seq: "s1"}},
		{kind: entryTrim, start: 2},
		{kind: entryAppend, append: Append{CloseStream: true}},
	}
}

func sampleHead(kind segmentKind) head {
	return head{
		kind: kind, stream: "stream-1", session: "session-1", epoch: 7, number: 300, previous: link{1, 2, 3, 4, 5, 6, 7, 8},
		first: 1 << 40, written: 1_700_000_000_000, lastAccess: 1_600_000_000_000, checkpoint: reference{covers: 256, session: "before"},
	}
}

func sampleState() state {
	st := state{
		number: 299, self: link{1, 2, 3, 4, 5, 6, 7, 8}, kind: segmentEntries, epoch: 7, session: "session-1",
		life: lifeOpen, start: 5, tail: 1 << 40, lastAccess: 1_600_000_000_000, lastSeq: "s0",
	}
	st.producers.set(Producer{ID: "p", Epoch: 3, Seq: 299}, 10)
	st.producers.set(Producer{ID: "q"}, 10)
	return st
}

func sampleSpans() []span {
	return []span{
		{number: 290, kind: segmentOpening, first: 100, end: 100, size: 80},
		{number: 299, kind: segmentEntries, first: 100, end: 1 << 40, size: 4000},
	}
}

func sampleCheckpoint() *checkpoint {
	st := sampleState()
	return &checkpoint{
		stream: "stream-1", state: st,
		chunks: []chunkRef{
			{session: "session-0", covers: 128, start: 0, end: 1000, indexAt: 500, size: 600},
			{session: "session-1", covers: 299, part: 1, start: 1000, end: st.tail, indexAt: 700, size: 900},
		},
		garbage: garbage{segments: []SegmentNumber{2, 3, 299}, objects: []string{"checkpoint/1-x"}},
	}
}

func sampleChunk() ([]byte, chunkRef) {
	blocks := []*block{newBlock(10, messages("hello", "world")), newBlock(20, messages("and", "others"))}
	return encodeChunk(chunkRef{session: "session-1", covers: 299, part: 1}, "stream-1", blocks, 10)
}

func sampleSegment(kind segmentKind) []byte {
	h := sampleHead(kind)
	st := sampleState()
	body := map[segmentKind][]byte{
		segmentOpening:  encodeOpeningBody(true),
		segmentEntries:  encodeEntries(sampleEntries(), 0),
		segmentClosing:  encodeClosingBody(&st, sampleSpans()),
		segmentDeletion: nil,
	}[kind]
	data, _ := h.encode(body)
	return data
}

var unexported = cmp.AllowUnexported(
	entry{}, head{}, reference{}, span{}, chunkRef{}, garbage{}, checkpoint{}, chunkBlock{}, segment{})

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	s, err := decodeSegment(sampleSegment(segmentEntries))
	if diff := cmp.Diff(sampleHead(segmentEntries), s.head, unexported); err != nil || diff != "" {
		t.Errorf("head: %v (-want +got):\n%s", err, diff)
	}
	entries, err := decodeEntries(s.body)
	if diff := cmp.Diff(sampleEntries(), entries, unexported); err != nil || diff != "" {
		t.Errorf("entries: %v (-want +got):\n%s", err, diff)
	}
	s, err = decodeSegment(sampleSegment(segmentClosing))
	if err != nil {
		t.Fatal(err)
	}
	st, spans, err := decodeClosingBody(s.body)
	want := sampleState()
	if diff := cmp.Diff(sampleSpans(), spans, unexported); err != nil || diff != "" || !sameState(&st, &want) {
		t.Errorf("closing: %v, state %+v (-want +got):\n%s", err, st, diff)
	}
	c, err := decodeCheckpoint(sampleCheckpoint().encode())
	if err != nil {
		t.Fatal(err)
	}
	wantCheckpoint := sampleCheckpoint()
	if !sameState(&c.state, &wantCheckpoint.state) {
		t.Errorf("checkpoint's state: %+v", c.state)
	}
	if diff := cmp.Diff(wantCheckpoint.chunks, c.chunks, unexported); diff != "" {
		t.Errorf("checkpoint's chunks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantCheckpoint.garbage, c.garbage, unexported); diff != "" {
		t.Errorf("checkpoint's garbage (-want +got):\n%s", diff)
	}
	data, ref := sampleChunk()
	text, err := chunkText(data, &ref)
	if err != nil || text != "hello|world|and|others|" {
		t.Errorf("chunk: %q, %v", text, err)
	}
}

func sameState(a, b *state) bool {
	var x, y writer
	a.encode(&x)
	b.encode(&y)
	return bytes.Equal(x.b, y.b)
}

// chunkText reads a whole chunk.
func chunkText(data []byte, ref *chunkRef) (string, error) {
	if int64(len(data)) < ref.indexAt {
		return "", errMalformed
	}
	index, err := decodeChunkIndex(data[ref.indexAt:], "stream-1", ref)
	if err != nil {
		return "", err
	}
	var text []byte
	for i := range index {
		b, err := decodeChunkBlock(data[index[i].at:][:index[i].length], &index[i])
		if err != nil {
			return "", err
		}
		for _, m := range b.messages {
			text = append(append(text, m...), '|')
		}
	}
	return string(text), nil
}

// TestDamageIsNoticed flips each bit and cuts at each length of an object of each kind. The decoder must fail: never may
// other data come out.
func TestDamageIsNoticed(t *testing.T) {
	chunk, ref := sampleChunk()
	for name, tc := range map[string]struct {
		data   []byte
		decode func([]byte) error
	}{
		"opening":    {sampleSegment(segmentOpening), decodeAnySegment},
		"entries":    {sampleSegment(segmentEntries), decodeAnySegment},
		"closing":    {sampleSegment(segmentClosing), decodeAnySegment},
		"deletion":   {sampleSegment(segmentDeletion), decodeAnySegment},
		"checkpoint": {sampleCheckpoint().encode(), func(b []byte) error { _, err := decodeCheckpoint(b); return err }},
		"chunk": {chunk[chunkHead:], func(b []byte) error {
			_, err := chunkText(append([]byte("SCHK\x01"), b...), &ref)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.decode(tc.data); err != nil {
				t.Fatalf("undamaged: %v", err)
			}
			for i := range tc.data {
				if err := tc.decode(tc.data[:i]); !errors.Is(err, errMalformed) {
					t.Errorf("cut to %d bytes: %v", i, err)
				}
				for bit := range 8 {
					damaged := bytes.Clone(tc.data)
					damaged[i] ^= 1 << bit
					if err := tc.decode(damaged); !errors.Is(err, errMalformed) {
						t.Errorf("bit %d of byte %d flipped: %v", bit, i, err)
					}
				}
			}
			if err := tc.decode(append(bytes.Clone(tc.data), 0)); !errors.Is(err, errMalformed) {
				t.Errorf("a byte more: %v", err)
			}
		})
	}
}

// decodeAnySegment reads a segment and its body.
func decodeAnySegment(data []byte) error {
	s, err := decodeSegment(data)
	if err != nil {
		return err
	}
	switch s.kind {
	case segmentOpening:
		_, err = decodeOpeningBody(s.body)
	case segmentEntries:
		_, err = decodeEntries(s.body)
	case segmentClosing:
		_, _, err = decodeClosingBody(s.body)
	case segmentDeletion:
		err = (&reader{b: s.body}).end()
	}
	return err
}

func TestAnUnknownVersionIsNamed(t *testing.T) {
	data := sampleSegment(segmentEntries)
	data[4] = formatVersion + 1
	if _, err := decodeSegment(data); err == nil || !errors.Is(err, errMalformed) {
		t.Errorf("a later version: %v, want it to be refused", err)
	}
}

func FuzzSegment(f *testing.F) {
	for kind := segmentOpening; kind <= segmentDeletion; kind++ {
		f.Add(sampleSegment(kind))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSegment(data)
		if err != nil {
			return
		}
		again, self := s.encode(s.body)
		if decoded, err := decodeSegment(again); err != nil || decoded.self != self {
			t.Errorf("what was decoded cannot be encoded and decoded again: %v", err)
		}
	})
}

func FuzzBodies(f *testing.F) {
	st := sampleState()
	f.Add(encodeEntries(sampleEntries(), 0))
	f.Add(encodeClosingBody(&st, sampleSpans()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, err := decodeEntries(data); err == nil {
			again, err := decodeEntries(encodeEntries(entries, 0))
			if diff := cmp.Diff(entries, again, unexported); err != nil || diff != "" {
				t.Errorf("entries, encoded and decoded again: %v (-want +got):\n%s", err, diff)
			}
		}
		if st, spans, err := decodeClosingBody(data); err == nil {
			st2, spans2, err := decodeClosingBody(encodeClosingBody(&st, spans))
			if err != nil || !sameState(&st, &st2) || !cmp.Equal(spans, spans2, unexported) {
				t.Errorf("closing, encoded and decoded again: %v", err)
			}
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(sampleCheckpoint().encode()[:len(sampleCheckpoint().encode())-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		w := writer{b: bytes.Clone(data)}
		w.uint32(checksum(data)) // or nothing would get past the checksum
		c, err := decodeCheckpoint(w.b)
		if err != nil {
			return
		}
		if _, err := decodeCheckpoint(c.encode()); err != nil {
			t.Errorf("what was decoded cannot be encoded and decoded again: %v", err)
		}
	})
}

func FuzzChunk(f *testing.F) {
	data, ref := sampleChunk()
	f.Add(data[:ref.indexAt], data[ref.indexAt:len(data)-4])
	f.Fuzz(func(t *testing.T, blocks, index []byte) {
		w := writer{b: bytes.Clone(index)}
		w.uint32(checksum(index))
		ref := ref
		ref.indexAt, ref.size = int64(len(blocks)), int64(len(blocks)+len(w.b))
		decoded, err := decodeChunkIndex(w.b, "stream-1", &ref)
		if err != nil {
			return
		}
		for i := range decoded {
			b := &decoded[i]
			if b.at < 0 || b.at+b.length > int64(len(blocks)) {
				t.Fatalf("block %d lies outside", i)
			}
			if got, err := decodeChunkBlock(blocks[b.at:][:b.length], b); err == nil && got.end() != b.end {
				t.Errorf("block %d ends at %d, want %d", i, got.end(), b.end)
			}
		}
	})
}
