package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

const (
	// draftFolder holds objects that are being written. Keys never begin with a dot, so no key can name it.
	draftFolder = ".drafts"
	// draftAge is how old a draft must be before it is taken for a leftover of a process that ended.
	draftAge = time.Hour
	// createTries bounds how often Create makes a folder that a concurrent Delete takes away again.
	createTries = 8
)

// File is a store in a folder of a local file system that has hard links and an honest fsync.
//
// An object is written to a draft, synced, and linked to its name, which fails if the name exists; then the folder is
// synced. Renaming would be no fence, since it replaces what is there.
type File struct {
	root string

	mu sync.Mutex
	// synced are the folders whose own entries, up to the root, are known to be durable.
	synced map[string]bool
}

var _ Store = (*File)(nil)

func openFileURL(u *url.URL) (*File, error) {
	if u.Host != "" || u.Path == "" {
		return nil, fmt.Errorf("a file store's URL has the form file:///folder, not %s", u.Redacted())
	}
	for name := range u.Query() {
		if name != "prefix" {
			return nil, fmt.Errorf("a file store's URL knows no parameter %q", name)
		}
	}
	root := u.Path
	if prefix := strings.Trim(u.Query().Get("prefix"), "/"); prefix != "" {
		if err := checkKey(prefix); err != nil {
			return nil, fmt.Errorf("checking the prefix: %w", err)
		}
		root = filepath.Join(root, prefix)
	}
	return OpenFile(root)
}

// OpenFile opens the store in a folder, which is made if it does not exist.
func OpenFile(root string) (*File, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("opening the file store: %w", err)
	}
	f := &File{root: root, synced: map[string]bool{}}
	drafts := filepath.Join(root, draftFolder)
	if err := os.MkdirAll(drafts, 0o750); err != nil {
		return nil, fmt.Errorf("opening the file store: %w", err)
	}
	if err := removeOldDrafts(drafts, time.Now().Add(-draftAge)); err != nil {
		return nil, fmt.Errorf("opening the file store: %w", err)
	}
	return f, nil
}

func removeOldDrafts(folder string, before time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("listing drafts: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.ModTime().After(before) {
			continue // gone meanwhile, or somebody may still be writing it
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an old draft: %w", err)
		}
	}
	return nil
}

// Create implements Store. It costs two fsyncs: of the object and of its folder.
func (f *File) Create(ctx context.Context, key string, data []byte) error {
	name, err := f.name(ctx, key)
	if err != nil {
		return fmt.Errorf("creating %s: %w", key, err)
	}
	draft, err := f.writeDraft(data)
	if err != nil {
		return fmt.Errorf("creating %s: %w", key, err)
	}
	crashpoint.Pass(crashpoint.FileSynced)
	// The draft's own name is of no use any more, whatever comes of the link; a leftover is removed when the store opens.
	defer func() { _ = os.Remove(draft) }()

	folder := filepath.Dir(name)
	if err := f.link(draft, name, folder); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating %s: %w", key, err)
		}
		// The winner may not have synced the folder yet, or may have failed to. Who is told that the key is taken
		// may rely on it, so it must stay taken.
		if err := syncFolder(folder); err != nil {
			return fmt.Errorf("creating %s, which is taken: %w", key, err)
		}
		return fmt.Errorf("creating %s: %w", key, ErrExists)
	}
	crashpoint.Pass(crashpoint.FileLinked)
	if err := syncFolder(folder); err != nil {
		return fmt.Errorf("creating %s: %w", key, err)
	}
	return nil
}

// link gives the draft its name. A folder that does not exist, or that Delete took away because it was empty, is made.
func (f *File) link(draft, name, folder string) error {
	for range createTries {
		err := f.makeFolder(folder)
		if err == nil {
			err = os.Link(draft, name)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.forgetFolder(folder)
	}
	return fmt.Errorf("making the folder: taken away %d times", createTries)
}

func (f *File) writeDraft(data []byte) (name string, err error) {
	name = filepath.Join(f.root, draftFolder, rand.Text())
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- the name is our own
	if err != nil {
		return "", fmt.Errorf("opening a draft: %w", err)
	}
	_, err = file.Write(data)
	if err == nil {
		crashpoint.Pass(crashpoint.FileWritten)
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(name)
		return "", fmt.Errorf("writing a draft: %w", err)
	}
	return name, nil
}

// makeFolder makes folder and its parents and syncs the entry of each in its own parent, once in this process.
func (f *File) makeFolder(folder string) error {
	if f.isSynced(folder) {
		return nil
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for dir := folder; dir != f.root && !f.isSynced(dir); dir = filepath.Dir(dir) {
		if err := syncFolder(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for dir := folder; dir != f.root; dir = filepath.Dir(dir) {
		f.synced[dir] = true
	}
	return nil
}

func (f *File) isSynced(folder string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced[folder]
}

func (f *File) forgetFolder(folder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for dir := folder; dir != f.root; dir = filepath.Dir(dir) {
		delete(f.synced, dir)
	}
}

func syncFolder(folder string) error {
	dir, err := os.Open(folder) // #nosec G304 -- below the root by checkKey
	if err != nil {
		return fmt.Errorf("opening the folder: %w", err)
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	return nil
}

// Get implements Store.
func (f *File) Get(ctx context.Context, key string) ([]byte, error) {
	name, err := f.name(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	data, err := os.ReadFile(name) // #nosec G304 -- below the root by checkKey
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, absent(err))
	}
	return data, nil
}

// GetRange implements Store.
func (f *File) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	name, err := f.name(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	file, err := os.Open(name) // #nosec G304 -- below the root by checkKey
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, absent(err))
	}
	data, err := readRange(file, offset, length)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return data, nil
}

// readRange reads into a buffer of just the size: growing one costs more than reading.
func readRange(file *os.File, offset, length int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, max(0, min(length, info.Size()-offset)))
	if _, err := file.ReadAt(data, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}

// Delete implements Store. Folders that it leaves empty go too. It is not synced: an object that comes back after a
// crash is deleted again by who wanted it deleted.
func (f *File) Delete(ctx context.Context, key string) error {
	name, err := f.name(ctx, key)
	if err != nil {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	f.removeEmpty(filepath.Dir(name))
	return nil
}

// removeEmpty removes a folder and its parents as far as they are empty.
func (f *File) removeEmpty(folder string) {
	for dir := folder; dir != f.root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return // not empty
		}
		f.forgetFolder(dir)
	}
}

// List implements Store.
func (f *File) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	var keys []string
	// The walk begins at the deepest folder that the prefix names whole.
	top := filepath.Join(f.root, filepath.FromSlash(prefix[:strings.LastIndexByte(prefix, '/')+1]))
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted while we walk
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			if entry.Name() == draftFolder {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(f.root, path)
		if err != nil {
			return err
		}
		if key := filepath.ToSlash(relative); strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", prefix, err)
	}
	slices.Sort(keys) // the walk sorts by part, not by key
	return keys[:min(limit, len(keys))], nil
}

// name returns the path of a key. Calls on a local file system cannot be cut short, so the context is looked at before.
func (f *File) name(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := checkKey(key); err != nil {
		return "", err
	}
	return filepath.Join(f.root, filepath.FromSlash(key)), nil
}

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}
