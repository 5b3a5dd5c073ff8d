package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamshift/streamshift/test/localcluster"
)

// ticksASecond is the unit of processor times in /proc: USER_HZ, the same on every architecture that Go runs on.
const ticksASecond = 100

// processorTimes returns how much processor time each process of the cluster has had so far, by what it is: the nodes together, and
// this program, which is the clients.
func processorTimes(cluster *localcluster.Cluster) (map[string]time.Duration, error) {
	own, err := processorTime(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("reading this program's processor time: %w", err)
	}
	times := map[string]time.Duration{"clients": own}
	for _, process := range cluster.Processes() {
		used, err := processorTime(process.PID())
		if err != nil {
			return nil, fmt.Errorf("reading the processor time of %s: %w", process.Name(), err)
		}
		name := process.Name()
		if strings.HasPrefix(name, "node-") {
			name = "nodes"
		}
		times[name] += used
	}
	return times, nil
}

// processorTime reads the user and system time of a process, the 14th and 15th field of its stat. The second one, its name,
// is in parentheses and may have blanks.
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading a process's state: %w", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parsing a process's state: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksASecond, nil
}

// processorTable has a line for each process: its time for one transfer, the most first.
func processorTable(used map[string]time.Duration, transfers int) string {
	var out strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Compare(used[b], used[a]) }) {
		fmt.Fprintf(&out, "    %-56s %9s\n", "processor time a transfer, ms: "+name, milliseconds(used[name]/time.Duration(transfers)))
	}
	return out.String()
}
