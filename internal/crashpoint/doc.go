// Package crashpoint names the points between the steps of agent, engine and manager at which a process may end at once, as
// by SIGKILL. They exist only in programs that are built with the tag crashpoints: everywhere else Enabled is a constant
// false, and nothing of them is left. They must change nothing but whether the process lives on.
//
// A test arms one point of one life of one process by a file <pid> in the folder that FolderVariable names:
//
//	register.Complete.before 1
//
// ends that process as it passes the point for the first time.
package crashpoint
