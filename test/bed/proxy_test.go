package bed

import (
	"bufio"
	"net"
	"testing"
	"time"
)

// TestAProxyThatIsCutCarriesNothing: and carries again once it is mended, by new connections.
func TestAProxyThatIsCutCarriesNothing(t *testing.T) {
	echo, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				line, _ := bufio.NewReader(c).ReadString('\n')
				_, _ = c.Write([]byte(line))
			}()
		}
	}()
	p, err := NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	p.Lead("http://" + echo.Addr().String())
	ask := func(patience time.Duration) error {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write([]byte("hello\n")); err != nil {
			return err
		}
		_, err = bufio.NewReader(c).ReadString('\n')
		return err
	}
	if err := ask(10 * time.Second); err != nil {
		t.Errorf("while it is whole: %v", err)
	}
	p.Cut()
	if err := ask(20 * time.Millisecond); err == nil {
		t.Error("it carries although it is cut")
	}
	p.Mend()
	if err := ask(10 * time.Second); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}
