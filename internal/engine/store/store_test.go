package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// every runs a test over each store that needs no server.
func every(t *testing.T, test func(t *testing.T, s Store)) {
	t.Helper()
	for name, url := range map[string]string{
		"memory":               "mem://",
		"memory with a prefix": "mem://?prefix=a/b/",
		"file":                 "file://" + t.TempDir(),
		"file with a prefix":   "file://" + t.TempDir() + "?prefix=a/b/",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

func TestOfManyCreatorsOneWins(t *testing.T) {
	const writers, rounds = 8, 300
	every(t, func(t *testing.T, s Store) {
		for round := range rounds {
			key := fmt.Sprintf("race/%d", round)
			var all sync.WaitGroup
			errs := make([]error, writers)
			for i := range writers {
				all.Go(func() { errs[i] = s.Create(t.Context(), key, []byte{byte(i)}) })
			}
			all.Wait()
			winner := -1
			for i, err := range errs {
				switch {
				case err == nil && winner >= 0:
					t.Fatalf("round %d: writers %d and %d both won", round, winner, i)
				case err == nil:
					winner = i
				case !errors.Is(err, ErrExists):
					t.Fatalf("round %d: %v", round, err)
				}
			}
			if winner < 0 {
				t.Fatalf("round %d: nobody won", round)
			}
			if got, err := s.Get(t.Context(), key); err != nil || !bytes.Equal(got, []byte{byte(winner)}) {
				t.Fatalf("round %d: reads %v, %v, but writer %d won", round, got, err, winner)
			}
		}
	})
}

func TestObjectsAreKept(t *testing.T) {
	every(t, func(t *testing.T, s Store) {
		data := []byte("0123456789")
		if err := s.Create(t.Context(), "x/y/z", data); err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			offset, length int64
			want           string
		}{
			"all":                {0, 10, "0123456789"},
			"the middle":         {3, 4, "3456"},
			"beyond its end":     {8, 100, "89"},
			"from the beginning": {0, 1, "0"},
		} {
			if got, err := s.GetRange(t.Context(), "x/y/z", tc.offset, tc.length); err != nil || string(got) != tc.want {
				t.Errorf("%s: GetRange(%d, %d) = %q, %v, want %q", name, tc.offset, tc.length, got, err, tc.want)
			}
		}
		if err := s.Create(t.Context(), "x/y/z", []byte("other")); !errors.Is(err, ErrExists) {
			t.Errorf("creating it again: %v, want %v", err, ErrExists)
		}
		if got, err := s.Get(t.Context(), "x/y/z"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("Get = %q, %v, want %q", got, err, data)
		}
		for range 2 {
			if err := s.Delete(t.Context(), "x/y/z"); err != nil {
				t.Errorf("Delete: %v", err)
			}
		}
		if _, err := s.Get(t.Context(), "x/y/z"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get after Delete: %v, want %v", err, ErrNotFound)
		}
		if _, err := s.GetRange(t.Context(), "x/y/z", 0, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("GetRange after Delete: %v, want %v", err, ErrNotFound)
		}
		if err := s.Create(t.Context(), "x/y/z", []byte("new")); err != nil {
			t.Errorf("Create after Delete: %v", err)
		}
	})
}

func TestKeysAreListedInOrder(t *testing.T) {
	every(t, func(t *testing.T, s Store) {
		for _, key := range []string{"a/2", "a/1", "a-b/1", "a/1/x", "b/1", "a/3"} {
			if key == "a/1/x" {
				continue // a file store cannot have an object and a folder of one name; the engine never asks for it
			}
			if err := s.Create(t.Context(), key, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		for name, tc := range map[string]struct {
			prefix, after string
			limit         int
			want          []string
		}{
			"all":                {"", "", 10, []string{"a-b/1", "a/1", "a/2", "a/3", "b/1"}},
			"a folder":           {"a/", "", 10, []string{"a/1", "a/2", "a/3"}},
			"part of a name":     {"a", "", 10, []string{"a-b/1", "a/1", "a/2", "a/3"}},
			"behind a key":       {"a/", "a/1", 10, []string{"a/2", "a/3"}},
			"no more than asked": {"a/", "", 2, []string{"a/1", "a/2"}},
			"nothing":            {"c/", "", 10, nil},
		} {
			got, err := s.List(t.Context(), tc.prefix, tc.after, tc.limit)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" && len(got)+len(tc.want) > 0 {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	})
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	every(t, func(t *testing.T, s Store) {
		for _, key := range []string{"", "/a", "a/", "a//b", "..", "a/../b", ".drafts/x", "a b", "ä", "a\x00", strings.Repeat("a", maxKeyLength+1)} {
			if err := s.Create(t.Context(), key, nil); err == nil || errors.Is(err, ErrExists) {
				t.Errorf("Create(%q): %v, want an error", key, err)
			}
			if _, err := s.Get(t.Context(), key); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("Get(%q): %v, want an error", key, err)
			}
		}
	})
}

func TestURLsThatNameNoStoreAreRefused(t *testing.T) {
	for _, url := range []string{"", "/tmp", "ftp://x", "file://host/folder", "file:///tmp?region=x", "file:///tmp?prefix=../x", "://"} {
		if _, err := Open(t.Context(), url); err == nil {
			t.Errorf("Open(%q) succeeds", url)
		}
	}
}

func TestFoldersComeAndGoWhileObjectsAreCreated(t *testing.T) {
	s, err := OpenFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 50 {
				key := fmt.Sprintf("a/b/%d-%d", i, n)
				if err := s.Create(t.Context(), key, []byte("x")); err != nil {
					t.Error(err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(s.root); err != nil || len(entries) != 1 {
		t.Errorf("left in the root: %v, %v; want the drafts' folder only", entries, err)
	}
}

func TestOldDraftsAreRemoved(t *testing.T) {
	root := t.TempDir()
	s, err := OpenFile(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old": draftAge + time.Minute, "young": draftAge - time.Minute} {
		file := filepath.Join(root, draftFolder, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenFile(root); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(root, draftFolder))
	if err != nil || len(entries) != 1 || entries[0].Name() != "young" {
		t.Errorf("drafts: %v, %v; want the young one", entries, err)
	}
}

// careless is a store that looks, then writes: two may win.
type careless struct {
	Store
	mu      sync.Mutex
	objects map[string][]byte
	looked  sync.WaitGroup
}

func (c *careless) Create(ctx context.Context, key string, data []byte) error {
	_, err := c.Get(ctx, key)
	c.looked.Done()
	c.looked.Wait() // everybody has looked before anybody writes
	if err == nil {
		return ErrExists
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[key] = data
	return nil
}

func (c *careless) Get(_ context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.objects[key]; ok {
		return data, nil
	}
	return nil, ErrNotFound
}

func (c *careless) Delete(context.Context, string) error { return nil }

// refusing is a store that creates nothing.
type refusing struct{ Store }

func (refusing) Create(context.Context, string, []byte) error { return ErrExists }
func (refusing) Delete(context.Context, string) error         { return nil }

// away is a store that does not answer.
type away struct{ Store }

var errAway = errors.New("store is away")

func (away) Create(context.Context, string, []byte) error { return errAway }
func (away) Delete(context.Context, string) error         { return errAway }

func TestProbeAdmitsAndRefuses(t *testing.T) {
	every(t, func(t *testing.T, s Store) {
		if err := Probe(t.Context(), s); err != nil {
			t.Error(err)
		}
		if left, err := s.List(t.Context(), "", "", 10); err != nil || len(left) != 0 {
			t.Errorf("the probe leaves %v, %v", left, err)
		}
	})
	loose := &careless{objects: map[string][]byte{}}
	loose.looked.Add(probeWriters)
	for name, tc := range map[string]struct {
		store Store
		want  string
	}{
		"two writers win":    {loose, "two writers created the same object"},
		"nobody wins":        {refusing{}, "could not be created"},
		"it does not answer": {away{}, errAway.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Probe(t.Context(), tc.store); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Probe: %v, want an error with %q", err, tc.want)
			}
		})
	}
}
