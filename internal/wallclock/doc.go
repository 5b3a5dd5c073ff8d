// Package wallclock is the clock that programs give to their parts. In programs that are built with the tag crashpoints a test may
// set it wrong, by a file <pid>.clock in the folder that crashpoint.FolderVariable names, with a number of milliseconds; everywhere
// else Now is time.Now, and nothing more is left. Timers are not set wrong: a machine whose clock is set goes on at its pace.
package wallclock
