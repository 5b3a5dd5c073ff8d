package localcluster

import (
	"net"
	"os"
	"strconv"
	"testing"
)

func TestPortsAreHeldOnce(t *testing.T) {
	var first, second ports
	defer first.release()
	defer second.release()
	seen := map[int]bool{}
	for range 50 {
		for _, holder := range []*ports{&first, &second} {
			port, err := holder.take()
			if err != nil {
				t.Fatal(err)
			}
			if seen[port] {
				t.Errorf("port %d was given twice", port)
			}
			if port < firstPort || port >= firstPort+portCount {
				t.Errorf("port %d lies outside of %d and the %d that follow", port, firstPort, portCount)
			}
			seen[port] = true
		}
	}
}

func TestAPortThatIsListenedOnIsNotFree(t *testing.T) {
	var held ports
	defer held.release()
	port, err := held.take()
	if err != nil {
		t.Fatal(err)
	}
	if !isFree(port) {
		t.Errorf("port %d, which nothing listens on, is not free", port)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if isFree(port) {
		t.Errorf("port %d, which is listened on, is free", port)
	}
}

func TestLeftoversGoAndRunningClustersStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	running, err := newFolder("")
	if err != nil {
		t.Fatal(err)
	}
	left, err := newFolder("")
	if err != nil {
		t.Fatal(err)
	}
	_ = left.lock.Close() // as the end of its process would
	next, err := newFolder("")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{running.path: true, left.path: false, next.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("folder %s: there %v, want %v", path, err == nil, want)
		}
	}
	if err := next.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(next.path); err == nil {
		t.Errorf("folder %s is there after close", next.path)
	}
}
