package routing

import (
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrStreamParkingFull tells that too many requests for one stream wait already.
	ErrStreamParkingFull = errors.New("too many requests wait for this stream")
	// ErrParkingFull tells that too many requests, or too many of their bytes, wait in all.
	ErrParkingFull = errors.New("too many requests wait")
)

// ParkingLimits bound what may wait at one process.
type ParkingLimits struct {
	// PerStream bounds the requests that wait for one stream, Total those that wait in all.
	PerStream, Total int
	// Bytes bounds the bodies of the waiting requests.
	Bytes int64
}

// DefaultParkingLimits are the limits where nothing else is configured.
func DefaultParkingLimits() ParkingLimits {
	return ParkingLimits{PerStream: 4096, Total: 32768, Bytes: 256 << 20}
}

// Parking counts the requests that wait, so that one stream that hangs cannot take the room of all others. It has no
// queue: each request waits for the change of its own stream.
type Parking struct {
	limits ParkingLimits

	mu      sync.Mutex
	total   int
	bytes   int64
	streams map[Stream]int
}

// NewParking returns an empty parking.
func NewParking(limits ParkingLimits) *Parking {
	return &Parking{limits: limits, streams: map[Stream]int{}}
}

// Enter takes a place for one request whose body has this many bytes. The place is held until leave is called. The
// error is ErrStreamParkingFull or ErrParkingFull.
func (p *Parking) Enter(stream Stream, bytes int64) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.streams[stream] >= p.limits.PerStream:
		return nil, fmt.Errorf("%w: the limit is %d", ErrStreamParkingFull, p.limits.PerStream)
	case p.total >= p.limits.Total:
		return nil, fmt.Errorf("%w: the limit is %d", ErrParkingFull, p.limits.Total)
	case p.bytes+bytes > p.limits.Bytes:
		return nil, fmt.Errorf("%w: the limit of their bodies is %d bytes", ErrParkingFull, p.limits.Bytes)
	}
	p.total++
	p.bytes += bytes
	p.streams[stream]++
	return sync.OnceFunc(func() { p.leave(stream, bytes) }), nil
}

func (p *Parking) leave(stream Stream, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	p.bytes -= bytes
	if p.streams[stream]--; p.streams[stream] == 0 {
		delete(p.streams, stream)
	}
}

// Count returns how many requests wait and how many bytes their bodies have.
func (p *Parking) Count() (requests int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, p.bytes
}
