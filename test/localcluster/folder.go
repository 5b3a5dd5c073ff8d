package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	folderPattern = "streamshift-cluster-*"
	folderLock    = "lock"
)

// folder holds a cluster's data, certificates, kubeconfigs and logs. A temporary one is removed by close; one that a killed
// process left behind is removed by the next cluster on this machine, which finds its lock free.
type folder struct {
	path      string
	lock      *os.File // nil for a folder that the caller named
	temporary bool
}

func newFolder(named string) (folder, error) {
	if named != "" {
		path, err := filepath.Abs(named)
		if err != nil {
			return folder{}, fmt.Errorf("finding folder %s: %w", named, err)
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return folder{}, fmt.Errorf("making the cluster's folder: %w", err)
		}
		return folder{path: path}, nil
	}
	removeLeftovers()
	path, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return folder{}, fmt.Errorf("making the cluster's folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(path, folderLock))
	if err != nil {
		return folder{}, err
	}
	return folder{path: path, lock: lock, temporary: true}, nil
}

func (f folder) join(elements ...string) string {
	return filepath.Join(append([]string{f.path}, elements...)...)
}

// write puts a file that only this user may read into the folder and returns its path.
func (f folder) write(name string, content []byte) (string, error) {
	path := f.join(name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	return path, nil
}

func (f folder) close() error {
	if !f.temporary {
		return nil
	}
	defer func() { _ = f.lock.Close() }()
	if err := os.RemoveAll(f.path); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// removeLeftovers removes the folders of clusters whose process has gone. A folder without a lock file is one that is being
// made at this moment, and is left alone.
func removeLeftovers() {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern))
	if err != nil {
		return
	}
	for _, path := range folders {
		if _, err := os.Stat(filepath.Join(path, folderLock)); err != nil {
			continue
		}
		lock, err := lockFile(filepath.Join(path, folderLock))
		if err != nil {
			continue // its cluster runs
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}
