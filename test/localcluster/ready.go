package localcluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
)

// awaitReady waits until the process answers 200, has ended, or the time is over.
func (p *Process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := p.Ended()
	go func() {
		select {
		case <-ended:
			cancel() // there is nothing to wait for any more
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, p.name+" to be ready", startTimeout, func(ctx context.Context) error { return probe(ctx, p.readyURL) })
	if err == nil {
		return nil
	}
	if !p.Alive() {
		err = fmt.Errorf("it ended: %w", p.endReason())
		if strings.Contains(p.tail(), "address already in use") {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
	}
	return fmt.Errorf("starting %s: %w\n%s", p.name, err, p.tail())
}

func (p *Process) endReason() error {
	if result := p.current().result; result != nil {
		return result
	}
	return errors.New("exit status 0")
}

func endedBySIGTERM(result error) bool {
	var exit *exec.ExitError
	if !errors.As(result, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// prober asks health endpoints. What it asks carries nothing, so that it need not know whom it asks.
var prober = &http.Client{
	Timeout: probeTimeout,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	},
}

func probe(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := prober.Do(request)
	if err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, logTail))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// tail is the end of the log, for error messages.
func (p *Process) tail() string {
	content, err := p.Log()
	if err != nil {
		return err.Error()
	}
	if len(content) > logTail {
		content = "..." + content[len(content)-logTail:]
	}
	return "the end of its log:\n" + content
}
