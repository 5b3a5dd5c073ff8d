package bed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// revisionBump is by how much a restored etcd's revision is raised: by more than was written since the backup, so that no watch
// takes an old state for a new one.
const revisionBump = "1000000000"

// RestoreTool is the path of etcdutl, which is built with the control plane; empty where the control plane came from elsewhere
// and has none.
func (b *Bed) RestoreTool() string {
	path := filepath.Join(filepath.Dir(b.Cluster.KubectlPath()), "etcdutl")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Snapshot has etcd write a backup of everything, as an administrator would, and returns its path.
func (b *Bed) Snapshot(ctx context.Context) (path string, err error) {
	body, err := b.callEtcd(ctx, "maintenance/snapshot", map[string]string{})
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	path = filepath.Join(b.folder, "snapshot.db")
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("writing a snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for pieces := json.NewDecoder(body); ; {
		var piece struct {
			Result struct {
				Blob []byte `json:"blob"`
			} `json:"result"`
		}
		switch err := pieces.Decode(&piece); {
		case errors.Is(err, io.EOF):
			return path, nil
		case err != nil:
			return "", fmt.Errorf("reading a snapshot: %w", err)
		}
		if _, err := file.Write(piece.Result.Blob); err != nil {
			return "", fmt.Errorf("writing a snapshot: %w", err)
		}
	}
}

// RestoreSnapshot has the API server and etcd come back with what was backed up, as etcd's documentation wants it for Kubernetes.
// All other processes go on meanwhile.
func (b *Bed) RestoreSnapshot(ctx context.Context, snapshot string) error {
	etcd, server := b.Cluster.Etcd(), b.Cluster.APIServer()
	if err := errors.Join(server.Kill(), etcd.Kill()); err != nil {
		return fmt.Errorf("ending the control plane: %w", err)
	}
	data := filepath.Join(b.Cluster.Folder(), "etcd")
	if err := os.RemoveAll(data); err != nil {
		return fmt.Errorf("removing what etcd has: %w", err)
	}
	restore := exec.CommandContext(ctx, b.RestoreTool(), "snapshot", "restore", snapshot, "--data-dir="+data, //nolint:gosec // built here
		"--bump-revision="+revisionBump, "--mark-compacted")
	if out, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("restoring a snapshot: %w: %s", err, out)
	}
	if err := etcd.Start(ctx); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	if err := server.Start(ctx); err != nil {
		return fmt.Errorf("starting the API server: %w", err)
	}
	return nil
}
