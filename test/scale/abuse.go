package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	// endless is the length of a body without end, endlessTaken how much of it a server may take before it closes the connection:
	// the limit of a body, what is read of it so that the client sees the answer, and what the kernel's buffers hold.
	endless, endlessTaken = 10 << 30, 64 << 20
	// bomb is the size of a header that is far beyond every limit.
	bomb = 4 << 20
	// abusePatience bounds the wait for an answer, or for the end of a connection.
	abusePatience = 150 * time.Second
)

// endlessBody sends a body of 10 GiB, whose length is told and not.
func endlessBody(ctx context.Context, f front, _ crowd) (string, error) {
	var said []string
	for _, framing := range []string{fmt.Sprintf("Content-Length: %d", endless), "Transfer-Encoding: chunked"} {
		head := "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: " + contentType + "\r\n" + framing + "\r\n\r\n"
		c, err := request(ctx, f.stream(crowdStream), head)
		if err != nil {
			return "", err
		}
		answer := make(chan string, 1)
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(abusePatience))
			line, _ := bufio.NewReader(c).ReadString('\n') // what is missing shows
			answer <- strings.TrimSpace(line)
		}()
		sent := pour(c, strings.HasPrefix(framing, "Transfer"))
		got := <-answer
		_ = c.Close()
		if !strings.Contains(got, " 413 ") || sent > endlessTaken {
			return "", fmt.Errorf("%s: answered %q after %s, want 413 after at most %s", framing, got, mib(sent), mib(endlessTaken))
		}
		said = append(said, fmt.Sprintf("413 after %s", mib(sent)))
	}
	return "10 GiB, length told and not: " + strings.Join(said, ", "), nil
}

// pour sends zeros until the connection takes no more, or 10 GiB are sent, and returns how much that was.
func pour(c net.Conn, chunked bool) int64 {
	piece := make([]byte, 1<<20)
	frame := piece
	if chunked {
		frame = slices.Concat([]byte("100000\r\n"), piece, []byte("\r\n"))
	}
	var sent int64
	for sent < endless {
		_ = c.SetWriteDeadline(time.Now().Add(abusePatience))
		if _, err := c.Write(frame); err != nil {
			return sent
		}
		sent += int64(len(piece))
	}
	return sent
}

// headerBombs sends headers that are far too large, in one and in many, and heads that never end.
func headerBombs(ctx context.Context, f front, c crowd) (string, error) {
	for what, header := range map[string]string{
		"one header":   "A: " + strings.Repeat("x", bomb),
		"many headers": strings.Repeat("A: "+strings.Repeat("x", 1000)+"\r\n", bomb/1000) + "B: x",
	} {
		conn, err := request(ctx, f.stream(crowdStream), "GET %s HTTP/1.1\r\nHost: %s\r\n")
		if err != nil {
			return "", err
		}
		_ = conn.SetDeadline(time.Now().Add(abusePatience))
		go func() { _, _ = io.WriteString(conn, header+"\r\n\r\n") }() // it is cut off
		line, _ := bufio.NewReader(conn).ReadString('\n')
		_ = conn.Close()
		if !strings.Contains(line, " 431 ") {
			return "", fmt.Errorf("%s of %s: answered %q, want 431", what, mib(bomb), line)
		}
	}
	var heads []net.Conn
	defer func() {
		for _, head := range heads {
			_ = head.Close()
		}
	}()
	for range c.slow {
		head, err := request(ctx, f.stream(crowdStream), "GET %s HTTP/1.1\r\nHost: %s\r\nA: x")
		if err != nil {
			return "", err
		}
		heads = append(heads, head)
	}
	began := time.Now()
	for _, head := range heads {
		_ = head.SetReadDeadline(began.Add(abusePatience))
		if _, err := io.Copy(io.Discard, head); err != nil && errors.Is(err, context.DeadlineExceeded) {
			return "", fmt.Errorf("a head that does not end: %w", err)
		}
	}
	return fmt.Sprintf("431 for %s; %d heads that do not end were closed after %.0f s", mib(bomb), c.slow, time.Since(began).Seconds()), nil
}
