package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
	"github.com/streamshift/streamshift/streamclient"
	"github.com/streamshift/streamshift/test/solo"
)

// bulkBody is the size of one append.
const bulkBody = 4 << 20

// bulkResult is what came of filling one stream and reading it back.
type bulkResult struct {
	bytes int64
	// append, read and raw are rates: of the appends, of reading everything back through a server that has just been started, and
	// of reading the stream's objects from the store without one. Both reads begin with nothing in the machine's memory.
	append, read, raw rate
	// appendPeak and readPeak are the most memory that the server held.
	appendPeak, readPeak int64
	objects              objectCounts
	same                 bool
}

// rate is in bytes a second.
type rate float64

func rateOf(size int64, took time.Duration) rate { return rate(float64(size) / took.Seconds()) }

func (r rate) String() string { return fmt.Sprintf("%.0f MiB/s", float64(r)/(1<<20)) }

func (b bulkResult) String() string {
	return fmt.Sprintf("%d MiB in one stream: appended at %s (peak %s), read back at %s (peak %s), the store alone at %s, ratio %.2f; %s",
		b.bytes>>20, b.append, mib(b.appendPeak), b.read, mib(b.readPeak), b.raw, float64(b.read/b.raw), b.objects)
}

// bulkMemory bounds what a server may hold, whatever the stream's size: its cache of 256 MiB, the chunks that are merged, and as much
// again for the garbage collector.
const bulkMemory = 1 << 30

func (b bulkResult) judge() error {
	var errs []error
	if !b.same {
		errs = append(errs, errors.New("what was read back is not what was appended"))
	}
	if peak := max(b.appendPeak, b.readPeak); peak > bulkMemory {
		errs = append(errs, fmt.Errorf("the server held %s, the limit is %s", mib(peak), mib(bulkMemory)))
	}
	return errors.Join(errs...)
}

func mib(size int64) string { return fmt.Sprintf("%d MiB", size>>20) }

// bulk appends so many bytes that do not compress, and reads them back.
func bulk(ctx context.Context, p place, size int64) (bulkResult, error) {
	result := bulkResult{bytes: size}
	server, err := p.start(ctx, 1)
	if err != nil {
		return result, err
	}
	stream := streamclient.New(server.URL, streamclient.Options{}).Stream("scale", "bulk")
	written, err := fill(ctx, stream, size, &result)
	if err == nil {
		result.appendPeak, err = peak(server)
	}
	server.Kill()
	if err != nil {
		return result, err
	}
	objects, err := store.Open(ctx, p.storeURL)
	if err != nil {
		return result, fmt.Errorf("opening the store: %w", err)
	}
	keys, err := objects.List(ctx, "", "", maxObjects)
	if err != nil {
		return result, fmt.Errorf("listing the objects: %w", err)
	}
	result.objects = count(keys)
	if result.raw, err = readRaw(ctx, p, objects, keys); err != nil {
		return result, err
	}
	if err := p.forget(); err != nil {
		return result, err
	}
	server, err = p.start(ctx, 2)
	if err != nil {
		return result, err
	}
	defer server.Kill()
	stream = streamclient.New(server.URL, streamclient.Options{}).Stream("scale", "bulk")
	if _, err := stream.Create(ctx, streamclient.CreateOptions{}); err != nil { // the server learns of it
		return result, err
	}
	read := sha256.New()
	began := time.Now()
	n, err := readAll(ctx, stream, read)
	if err != nil {
		return result, err
	}
	result.read = rateOf(n, time.Since(began))
	result.same = n == size && bytes.Equal(read.Sum(nil), written.Sum(nil))
	result.readPeak, err = peak(server)
	return result, err
}

func fill(ctx context.Context, stream *streamclient.Stream, size int64, result *bulkResult) (hash.Hash, error) {
	if _, err := stream.Create(ctx, streamclient.CreateOptions{}); err != nil {
		return nil, err
	}
	random := rand.NewChaCha8([32]byte{})
	written := sha256.New()
	body := make([]byte, bulkBody)
	var took time.Duration
	for left := size; left > 0; left -= bulkBody {
		_, _ = random.Read(body) // cannot fail
		_, _ = written.Write(body)
		began := time.Now()
		if _, err := stream.Append(ctx, body, streamclient.AppendOptions{ContentType: "application/octet-stream"}); err != nil {
			return nil, err
		}
		took += time.Since(began)
	}
	result.append = rateOf(size, took)
	return written, nil
}

// readAll reads a stream from its beginning to its end.
func readAll(ctx context.Context, stream *streamclient.Stream, into hash.Hash) (int64, error) {
	var total int64
	for at := streamclient.Beginning; ; {
		chunk, err := stream.Read(ctx, at)
		if err != nil {
			return total, err
		}
		_, _ = into.Write(chunk.Data)
		total += int64(len(chunk.Data))
		if chunk.UpToDate {
			return total, nil
		}
		at = chunk.Next
	}
}

// readRaw reads the objects that hold the stream's payload.
func readRaw(ctx context.Context, p place, objects store.Store, keys []string) (rate, error) {
	if err := p.forget(); err != nil {
		return 0, err
	}
	began := time.Now()
	var total int64
	for _, key := range keys {
		if !strings.Contains(key, "/chunk/") {
			continue
		}
		data, err := objects.Get(ctx, key)
		if err != nil {
			return 0, fmt.Errorf("reading the store alone: %w", err)
		}
		total += int64(len(data))
	}
	return rateOf(total, time.Since(began)), nil
}

func peak(server *solo.Server) (int64, error) {
	m, err := server.Memory()
	return m.Peak, err
}

// forget has the kernel drop the files of a folder from its memory, so that they are read from the disk.
func forget(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path) // #nosec G304 G122 -- below our own folder
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if err := file.Sync(); err != nil { // what is not written yet stays in memory
			return err
		}
		return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED) // #nosec G115 -- a file descriptor
	})
}
