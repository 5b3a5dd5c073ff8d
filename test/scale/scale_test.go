package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
	"github.com/streamshift/streamshift/test/solo"
)

var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "scale-test")
	if err != nil {
		panic(err)
	}
	code := func() int {
		defer func() { _ = os.RemoveAll(folder) }()
		if program, err = solo.Build(context.Background(), folder); err != nil {
			panic(err)
		}
		return m.Run()
	}()
	os.Exit(code)
}

// onTestFiles is a place on files.
func onTestFiles(t *testing.T) place {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "store")
	return place{program: program, storeURL: "file://" + folder, folder: folder}
}

func TestWhatIsAppendedInBulkIsReadBack(t *testing.T) {
	result, err := bulk(t.Context(), onTestFiles(t), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(result)
	if err := result.judge(); err != nil {
		t.Error(err)
	}
}

func TestRecordsLeaveFewObjects(t *testing.T) {
	var out bytes.Buffer
	p := onTestFiles(t)
	p.args = []string{"-checkpoint-segments", "16"}
	err := tryRecords(t.Context(), p, 200_000, &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

// smallCrowd is what a test run has time for.
var smallCrowd = crowd{readers: 300, slow: 100, flood: 8}

func TestClientsHarmNobodyElseAtANode(t *testing.T) {
	t.Parallel()
	server, err := onTestFiles(t).start(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	var out bytes.Buffer
	f := front{name: "server", url: server.URL, pid: server.PID()}
	err = tryFront(t.Context(), f, []front{f}, smallCrowd, &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

func TestClientsHarmNobodyElseAtAGateway(t *testing.T) {
	t.Parallel()
	cluster := routingtest.New(t, routingtest.Options{PlaceOn: "a"})
	cluster.AddNode("a")
	table := routing.NewTable()
	cluster.Feed(table)
	transport := gateway.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	server := routing.NewServer(gateway.New(gateway.Config{
		Table: table, Transport: transport, DefaultNamespace: "default", Limits: gateway.DefaultLimits(), Now: time.Now, Log: logr.Discard(),
	}))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	var out bytes.Buffer
	f := front{name: "gateway, node and clients", url: "http://" + listener.Addr().String(), pid: os.Getpid()}
	err = tryFront(t.Context(), f, []front{f}, smallCrowd, &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}
