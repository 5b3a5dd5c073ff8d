package engine

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	chunkMagic = "SCHK"
	// chunkHead is the magic and the version, before the first block.
	chunkHead = 5
)

// chunkRef names a chunk in a checkpoint.
type chunkRef struct {
	// session wrote it for its checkpoint that covers so many segments, as one of that checkpoint's parts.
	session string
	covers  SegmentNumber
	part    int64
	// start and end are the positions that it holds.
	start, end Offset
	// indexAt is where its index begins, size where the object ends, in bytes.
	indexAt, size int64
}

func (c *chunkRef) encode(w *writer) {
	w.string(c.session)
	w.number(int64(c.covers))
	w.number(c.part)
	w.number(int64(c.start))
	w.number(int64(c.end))
	w.number(c.indexAt)
	w.number(c.size)
}

func decodeChunkRef(r *reader) chunkRef {
	c := chunkRef{
		session: r.string(),
		covers:  SegmentNumber(r.number()), part: r.number(),
		start: Offset(r.number()), end: Offset(r.number()),
		indexAt: r.number(), size: r.number(),
	}
	if c.start >= c.end || c.indexAt < chunkHead || c.indexAt >= c.size || c.size-c.indexAt > maxChunkIndex {
		r.fail("a chunk's reference is none")
	}
	return c
}

// maxChunkIndex bounds what is read for the index of a chunk.
const maxChunkIndex = 64 << 20

// chunkBlock is an entry of a chunk's index.
type chunkBlock struct {
	start, end Offset
	at, length int64 // of the compressed bytes in the object
	sum        uint32
}

// chunkIndex says where the blocks of a chunk are.
type chunkIndex []chunkBlock

func (x chunkIndex) cost() int { return 40*len(x) + 64 }

// The codecs are made when first used and serve all sessions: each holds megabytes.
var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// maxBlock bounds what one compressed block may expand to: the largest append, with room to spare.
const maxBlock = 256 << 20

// encodeChunk puts runs of messages that follow each other into one chunk and completes its reference.
func encodeChunk(ref chunkRef, stream string, blocks []*block, blockBytes int) ([]byte, chunkRef) {
	w := writer{b: append([]byte(chunkMagic), formatVersion)}
	var index chunkIndex
	at := blocks[0].first
	ref.start = at
	for _, messages := range cutBlocks(blocks, blockBytes) {
		raw := encodeMessages(messages)
		begin := int64(len(w.b))
		w.b = compressor().EncodeAll(raw, w.b)
		compressed := w.b[begin:]
		end := at + Offset(payload(messages))
		index = append(index, chunkBlock{start: at, end: end, at: begin, length: int64(len(compressed)), sum: checksum(compressed)})
		at = end
	}
	ref.end = at
	ref.indexAt = int64(len(w.b))
	w.string(stream)
	w.string(ref.session)
	w.number(int64(ref.covers))
	w.number(ref.part)
	w.number(int64(ref.start))
	w.number(int64(len(index)))
	for _, b := range index {
		w.number(int64(b.end - b.start))
		w.number(b.length)
		w.uint32(b.sum)
	}
	w.uint32(checksum(w.b[ref.indexAt:]))
	ref.size = int64(len(w.b))
	return w.b, ref
}

// cutBlocks groups messages into runs of about so many bytes.
func cutBlocks(blocks []*block, blockBytes int) [][][]byte {
	var runs [][][]byte
	var run [][]byte
	size := 0
	for _, b := range blocks {
		for _, m := range b.messages {
			if size > 0 && size+len(m) > blockBytes {
				runs, run, size = append(runs, run), nil, 0
			}
			run = append(run, m)
			size += len(m)
		}
	}
	return append(runs, run)
}

// encodeMessages writes how many there are, their lengths, then their bytes.
func encodeMessages(messages [][]byte) []byte {
	w := writer{b: make([]byte, 0, payload(messages)+4*len(messages)+binary.MaxVarintLen64)}
	w.number(int64(len(messages)))
	for _, m := range messages {
		w.number(int64(len(m)))
	}
	for _, m := range messages {
		w.b = append(w.b, m...)
	}
	return w.b
}

func decodeMessages(raw []byte) ([][]byte, error) {
	r := reader{b: raw}
	n := r.count()
	lengths := make([]int64, 0, min(n, 1<<16))
	for range n {
		lengths = append(lengths, r.number())
		if r.err != nil {
			return nil, r.err
		}
	}
	messages := make([][]byte, 0, len(lengths))
	for _, length := range lengths {
		if length == 0 || length > int64(len(r.b)) {
			r.fail("a message's length is none")
			return nil, r.err
		}
		messages = append(messages, r.take(int(length)))
	}
	return messages, r.end()
}

// decodeChunkIndex reads the bytes of a chunk from indexAt to its end.
func decodeChunkIndex(data []byte, stream string, ref *chunkRef) (chunkIndex, error) {
	if len(data) < 4 || int64(len(data)) != ref.size-ref.indexAt {
		return nil, fmt.Errorf("%w: the chunk's index ends too early", errMalformed)
	}
	body := data[:len(data)-4]
	if binary.LittleEndian.Uint32(data[len(body):]) != checksum(body) {
		return nil, fmt.Errorf("%w: the checksum of the chunk's index differs", errMalformed)
	}
	r := reader{b: body}
	if r.string() != stream || r.string() != ref.session ||
		SegmentNumber(r.number()) != ref.covers || r.number() != ref.part || Offset(r.number()) != ref.start {
		r.fail("it is not the chunk that the checkpoint names")
	}
	n := r.count()
	index := make(chunkIndex, 0, min(n, 4096))
	at, start := int64(chunkHead), ref.start
	for range n {
		b := chunkBlock{start: start, end: start + Offset(r.number()), at: at, length: r.number(), sum: r.uint32()}
		at, start = b.at+b.length, b.end
		if b.end <= b.start || b.length <= 0 || at > ref.indexAt {
			r.fail("a block of the chunk is none")
			break
		}
		index = append(index, b)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if at != ref.indexAt || start != ref.end {
		return nil, fmt.Errorf("%w: the blocks of the chunk do not fill it", errMalformed)
	}
	return index, nil
}

// decodeChunkBlock expands the compressed bytes of one block.
func decodeChunkBlock(data []byte, b *chunkBlock) (*block, error) {
	if int64(len(data)) != b.length || checksum(data) != b.sum {
		return nil, fmt.Errorf("%w: the checksum of the chunk's block differs", errMalformed)
	}
	raw, err := decompressor().DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: expanding the chunk's block: %w", errMalformed, err)
	}
	messages, err := decodeMessages(raw)
	if err != nil {
		return nil, err
	}
	decoded := newBlock(b.start, messages)
	if decoded.end() != b.end {
		return nil, fmt.Errorf("%w: the chunk's block holds other positions than its index says", errMalformed)
	}
	return decoded, nil
}
