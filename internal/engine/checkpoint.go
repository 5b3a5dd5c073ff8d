package engine

import "fmt"

const checkpointMagic = "SCKP"

// checkpoint is what a session needs to go on from a segment without the ones before it.
type checkpoint struct {
	stream string
	state  state
}

func (c *checkpoint) encode() []byte {
	var w writer
	w.b = append(w.b, checkpointMagic...)
	w.byte(formatVersion)
	w.string(c.stream)
	c.state.encode(&w)
	w.uint32(checksum(w.b))
	return w.b
}

func decodeCheckpoint(data []byte) (*checkpoint, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%w: it ends too early", errMalformed)
	}
	body := data[:len(data)-4]
	if sum := (&reader{b: data[len(body):]}).uint32(); sum != checksum(body) {
		return nil, fmt.Errorf("%w: its checksum differs", errMalformed)
	}
	r := reader{b: body}
	if string(r.take(len(checkpointMagic))) != checkpointMagic || r.byte() != formatVersion {
		r.fail("it is no checkpoint of a known version")
	}
	c := &checkpoint{stream: r.string(), state: decodeState(&r)}
	return c, r.end()
}
