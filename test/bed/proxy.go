package bed

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

// Proxy carries TCP connections to one address, and can be cut: then what is open stands still, and what is new is taken and
// gets no answer, as when packets are lost.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string        // host:port
	whole  chan struct{} // closed while the proxy is whole
	isCut  bool
	open   map[net.Conn]bool
	closed bool
}

// NewProxy listens on a free port of this machine. It carries nothing before Lead.
func NewProxy() (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a proxy: %w", err)
	}
	p := &Proxy{listener: listener, whole: make(chan struct{}), open: map[net.Conn]bool{}}
	close(p.whole)
	go p.serve()
	return p, nil
}

// URL is where the proxy is reached by HTTP.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Lead has it carry to the host of a URL.
func (p *Proxy) Lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		to = u.Host
	}
	p.target = to
}

// Cut has nothing pass until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isCut {
		p.isCut, p.whole = true, make(chan struct{})
	}
}

// Mend lets everything pass again. Connections that stood still are closed, as after a reset.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isCut {
		return
	}
	p.isCut = false
	p.closeAll()
	close(p.whole)
}

// Close ends the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.closeAll()
	p.mu.Unlock()
	if err := p.listener.Close(); err != nil {
		return fmt.Errorf("ending a proxy: %w", err)
	}
	return nil
}

func (p *Proxy) closeAll() {
	for c := range p.open {
		_ = c.Close()
	}
	clear(p.open)
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.carry(c)
	}
}

// keep has a connection closed with the others; false where the proxy has ended.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) carry(from net.Conn) {
	if !p.keep(from) {
		return
	}
	defer p.drop(from)
	p.mu.Lock()
	whole, target := p.whole, p.target
	p.mu.Unlock()
	<-whole
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", target)
	if err != nil || !p.keep(to) {
		return
	}
	defer p.drop(to)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.copy(from, to)
		_ = from.Close()
	}()
	p.copy(to, from)
	_ = to.Close()
	<-back
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// copyBytes is how much passes at a time.
const copyBytes = 32 << 10

func (p *Proxy) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, copyBytes)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		whole := p.whole
		p.mu.Unlock()
		<-whole
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// kubeconfigThrough writes a kubeconfig like the one at a path that leads through the proxy, and returns its path. The
// certificate of the API server is for this machine's address, whatever the port.
func (p *Proxy) kubeconfigThrough(path, written string) (string, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return "", fmt.Errorf("reading a kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = strings.Replace(p.URL(), "http://", "https://", 1)
	}
	if err := clientcmd.WriteToFile(*config, written); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	if err := os.Chmod(written, 0o600); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return written, nil
}
