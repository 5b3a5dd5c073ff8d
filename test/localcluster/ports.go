package localcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports lie below the range from which the kernel takes the local ports of outgoing connections (32768 and up on Linux), so
// that a process which restarts finds its port still free.
const (
	firstPort    = 20000
	portCount    = 10000
	portAttempts = 1000
)

// ports are the ports that one cluster holds. Each is held by a lock on a file that all clusters of this user share, so
// that no two of them are given the same one; the lock ends with the process, whatever ends it.
type ports struct {
	locks []*os.File
}

// take returns a port on 127.0.0.1 that nothing listens on and that no other cluster holds.
func (p *ports) take() (int, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("streamshift-ports-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, fmt.Errorf("making the folder of port locks: %w", err)
	}
	for range portAttempts {
		port := firstPort + rand.IntN(portCount) //nolint:gosec // where to look first is no secret
		lock, err := lockFile(filepath.Join(folder, strconv.Itoa(port)))
		if err != nil {
			continue // another cluster's
		}
		if !isFree(port) {
			_ = lock.Close()
			continue
		}
		p.locks = append(p.locks, lock)
		return port, nil
	}
	return 0, fmt.Errorf("finding a free port: none of %d tried from %d up", portAttempts, firstPort)
}

func (p *ports) takeAddress() (string, error) {
	port, err := p.take()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

func (p *ports) release() {
	for _, lock := range p.locks {
		_ = lock.Close()
	}
	p.locks = nil
}

func isFree(port int) bool {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}

// lockFile opens the file and takes its lock without waiting. Closing the file gives the lock back.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return file, nil
}
