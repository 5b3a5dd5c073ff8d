package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// castagnoli is the polynomial of CRC32C, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// errMalformed is what every decoder's error wraps: the bytes are not what this package writes.
var errMalformed = errors.New("malformed object")

// maxName bounds the names inside objects: streams, sessions, producers, sequences.
const maxName = 1 << 10

// writer appends values to a buffer. Integers are unsigned varints, strings and byte strings have their length first.
type writer struct{ b []byte }

func (w *writer) byte(v byte)     { w.b = append(w.b, v) }
func (w *writer) uint32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) uint64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) string(v string) { w.b = append(binary.AppendUvarint(w.b, uint64(len(v))), v...) }
func (w *writer) bytes(v []byte)  { w.b = append(binary.AppendUvarint(w.b, uint64(len(v))), v...) }

// number writes a value that is never negative.
func (w *writer) number(v int64) {
	if v < 0 {
		panic(fmt.Sprintf("engine: writing the negative number %d", v)) // a bug of the caller: every value was checked
	}
	w.b = binary.AppendUvarint(w.b, uint64(v))
}

// reader takes values from a buffer. After the first fault it returns zero values; err tells.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errMalformed, what)
		r.b = nil
	}
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail("it ends too early")
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if v := r.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (r *reader) number() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<63-1 {
		r.fail("a number is out of range")
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > int64(len(r.b)) {
		r.fail("it ends too early")
		return nil
	}
	return r.take(int(n))
}

func (r *reader) string() string {
	v := r.bytes()
	if len(v) > maxName {
		r.fail("a name is too long")
		return ""
	}
	return string(v)
}

// count reads how many items follow, each of at least one byte, so that a flipped bit cannot ask for all memory.
func (r *reader) count() int {
	n := r.number()
	if n > int64(len(r.b)) {
		r.fail("it ends too early")
		return 0
	}
	return int(n)
}

// end demands that nothing is left.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("bytes follow its end")
	}
	return r.err
}
