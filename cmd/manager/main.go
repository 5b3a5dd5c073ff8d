// Command manager runs Streamshift's controllers and webhook: it places streams, accepts transfers and records what
// became of them. No handoff that was accepted needs it.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // schedules name time zones, and an image has no database of them

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}
