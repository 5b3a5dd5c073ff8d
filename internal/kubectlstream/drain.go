package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	// blockedPatience is how long nothing but blocked streams may be left before a drain is given up.
	blockedPatience = 10 * time.Second
	// unseenPatience is how long the manager may take to begin before that is told.
	unseenPatience = 5 * time.Second
)

// drainOptions are the flags of drain.
type drainOptions struct {
	wait             bool
	timeout, blocked time.Duration
}

func newDrain(a *access) (*cobra.Command, error) {
	o := &drainOptions{}
	command := &cobra.Command{
		Use:   "drain NODE",
		Short: "Cordon a node and follow its streams as they leave",
		Long: `Cordon a node and follow its streams as they leave. The Kubernetes Node is cordoned; where there is none of that name, the
StreamNode is. Pods stay: this drains streams. The drain is the manager's, so it goes on when this command ends.

The exit status tells how it went: 0 the node holds no stream any more, 1 something failed, 2 none of the streams that are left
can leave (they are named), 3 --timeout is over. kubectl stream uncordon ends the drain.`,
		Example: `  kubectl stream drain node-a
  kubectl stream drain node-a --timeout 5m --blocked-timeout 0   # wait for blocked streams, too
  kubectl stream drain node-a --wait=false                       # only begin`,
		Args:              exactly("NODE"),
		ValidArgsFunction: a.completeOne(a.completeNodes),
	}
	f := command.Flags()
	f.BoolVar(&o.wait, "wait", true, "Follow the drain until it ends.")
	f.DurationVar(&o.timeout, "timeout", 0, "How long the drain is followed. 0: until it ends.")
	f.DurationVar(&o.blocked, "blocked-timeout", blockedPatience, "Give up once nothing but blocked streams has been left for so long. 0: never.")
	command.RunE = func(c *cobra.Command, args []string) error { return a.drain(c.Context(), args[0], o) }
	return command, nil
}

func (a *access) drain(ctx context.Context, name string, o *drainOptions) error {
	c, err := a.connect(a.flags)
	if err != nil {
		return err
	}
	if _, err := node(ctx, c, name); err != nil {
		return err
	}
	cordoned, err := cordon(ctx, c, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, cordoned)
	if !o.wait {
		return nil
	}
	d := &drainFollower{
		client: c, name: name, now: a.Now, clock: drainClock{patience: o.blocked},
		display: &display{out: a.Out, width: a.TerminalWidth}, begun: a.Now(),
	}
	return d.follow(ctx, o.timeout)
}

// drainFollower follows one drain.
type drainFollower struct {
	client  client.WithWatch
	name    string
	now     func() time.Time
	clock   drainClock
	display *display
	begun   time.Time

	// last is the node as it was seen last, state how its drain stood then.
	last  *v1alpha1.StreamNode
	state drainState
	// told is what was said last of why the drain does not begin, or go on.
	told string
	// err is why the drain cannot be followed.
	err error
}

func (d *drainFollower) follow(ctx context.Context, timeout time.Duration) error {
	bounded, cancel := limited(ctx, timeout)
	defer cancel()
	f := &followed[*v1alpha1.StreamNode]{
		client: d.client, key: client.ObjectKey{Name: d.name}, empty: func() *v1alpha1.StreamNode { return &v1alpha1.StreamNode{} },
		list: &v1alpha1.StreamNodeList{},
		look: func(node *v1alpha1.StreamNode, found bool) bool { return d.look(bounded, node, found) },
	}
	err := f.follow(bounded)
	d.display.end()
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return d.unfinished(StatusTimedOut, fmt.Sprintf("timed out after %s, and the drain goes on", timeout))
	case errors.Is(err, context.Canceled):
		return d.unfinished(StatusInterrupted, "interrupted, and the drain goes on")
	case err != nil:
		return err
	case d.err != nil:
		return d.err
	case d.state == drainBlocked:
		return d.unfinished(StatusBlocked, fmt.Sprintf("%s is not drained, and stays cordoned", d.name))
	}
	moved := int32(0)
	if d.last.Status.Drain != nil {
		moved = d.last.Status.Drain.Moved
	}
	fmt.Fprintf(d.display.out, "node/%s drained: it holds no stream; %d have left it\n", d.name, moved)
	return nil
}

// look shows the node as it is, and returns true once the drain is done, blocked for too long, or cannot be followed.
func (d *drainFollower) look(ctx context.Context, node *v1alpha1.StreamNode, found bool) bool {
	if !found {
		d.err = fmt.Errorf("node %q is not registered any more", d.name)
		return true
	}
	d.last, d.state = node, drainStateOf(node)
	if d.clock.over(d.state, d.now()) {
		return true
	}
	switch d.state {
	case drainUnseen:
		if text := unseenText(node); d.told != text && d.now().Sub(d.begun) >= unseenPatience {
			d.told = text
			d.display.line(text)
		}
		return false
	case drainBlocked:
		if text := strings.Join(blockerLines(node.Status.Drain), "\n"); text != d.told {
			d.told = text
			d.display.progress(progressOf(node, d.now()))
			d.display.line(text)
		}
		return false
	case drainDone:
		// What a drain before has left in the status may say so, too: the registers have the last word.
		owned := &v1alpha1.StreamList{}
		if err := d.client.List(ctx, owned, client.MatchingFields{"status.node": d.name}, client.Limit(1)); err != nil {
			d.err = fmt.Errorf("checking that %s owns no stream: %w", d.name, err)
			return true
		}
		if len(owned.Items) > 0 {
			return false
		}
	case drainRunning:
	}
	d.display.progress(progressOf(node, d.now()))
	return d.state == drainDone
}

// unfinished is the error of a drain that has not ended; it says what is left, and what keeps it.
func (d *drainFollower) unfinished(status Status, what string) error {
	if d.last == nil || d.state == drainUnseen {
		return endf(status, "%s: the manager has not begun with it (kubectl stream uncordon %s ends it)", what, d.name)
	}
	text := fmt.Sprintf("%s: %s", what, progressOf(d.last, d.now()).text())
	lines := blockerLines(d.last.Status.Drain)
	if len(lines) > 0 {
		text += "\n" + strings.Join(lines, "\n")
	}
	return endf(status, "%s\nkubectl stream uncordon %s ends the drain", text, d.name)
}
