//go:build crashpoints

package wallclock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

// lookEvery is how often the file is read.
const lookEvery = 20 * time.Millisecond

// shift is by how much the clock is wrong, in nanoseconds.
var shift atomic.Int64

func init() {
	if folder := os.Getenv(crashpoint.FolderVariable); folder != "" {
		go follow(filepath.Join(folder, strconv.Itoa(os.Getpid())+".clock"))
	}
}

func follow(path string) {
	for range time.Tick(lookEvery) {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // as it was
		}
		if milliseconds, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil {
			shift.Store(int64(time.Duration(milliseconds) * time.Millisecond))
		}
	}
}

// Now tells the time, as wrong as it was set. Without a reading of the monotonic clock, which would hide that it jumps.
func Now() time.Time { return time.Now().Round(0).Add(time.Duration(shift.Load())) }
