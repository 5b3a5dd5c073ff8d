package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	// transferTimeout is how long --wait waits: a transfer takes milliseconds where nothing is in its way.
	transferTimeout = time.Minute
	// keepFinished is how long a transfer that was made here is kept after its end.
	keepFinished = 24 * time.Hour
)

// transferOptions are the flags of transfer.
type transferOptions struct {
	target        string
	name          string
	expectedEpoch int64
	deadline      time.Duration
	keep          time.Duration
	force         bool
	wait          bool
	timeout       time.Duration
	dryRun        string
}

func newTransfer(a *access) (*cobra.Command, error) {
	o := &transferOptions{}
	command := &cobra.Command{
		Use:   "transfer NAME --to NODE",
		Short: "Hand a stream over to another node",
		Long: `Hand a stream over to another node: makes a StreamTransfer. Clients notice some milliseconds of latency and no error. Where the
stream is on that node already, nothing is made.

With --wait the exit status tells how it ended: 0 on the node, 1 refused, failed or cancelled, 3 not ended within --timeout (it
goes on; kubectl stream cancel withdraws it).`,
		Example: `  kubectl stream transfer orders --to node-b --wait
  kubectl stream transfer orders --to node-b --expected-epoch 7   # only if nobody opened it since
  kubectl stream transfer orders --to node-b --force --wait       # its owner is dead: do not wait for it
  kubectl stream transfer orders --to node-b --dry-run=server     # would it be accepted?
  kubectl stream transfer orders --to node-b --dry-run=client -o yaml > move.yaml`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeStreams,
	}
	out, err := newOutput(command, "created")
	if err != nil {
		return nil, err
	}
	f := command.Flags()
	f.StringVar(&o.target, "to", "", "The node that shall own the stream.")
	f.StringVar(&o.name, "name", "", "Name of the StreamTransfer. Default: the stream's with a random ending.")
	f.Int64Var(&o.expectedEpoch, "expected-epoch", 0, "Move nothing unless the stream is at this epoch. 0: at any.")
	f.DurationVar(&o.deadline, "deadline", 0, "Withdraw the transfer if it is not committed by then, in whole seconds. 0: never.")
	f.DurationVar(&o.keep, "keep", keepFinished, "How long the StreamTransfer is kept after its end, in whole seconds. 0: for ever.")
	f.BoolVar(&o.force, "force", false, "Take the stream over if the lease of its owner has run out.")
	f.BoolVar(&o.wait, "wait", false, "Wait until the transfer has ended.")
	f.DurationVar(&o.timeout, "timeout", transferTimeout, "How long --wait waits. 0: without end.")
	f.StringVar(&o.dryRun, "dry-run", dryRunNone, `"client" only prints the StreamTransfer, "server" has it judged and not stored.`)
	command.RunE = func(c *cobra.Command, args []string) error { return a.transfer(c.Context(), args[0], o, out) }
	return command, errors.Join(
		completeFlag(command, "to", a.completeTargets),
		completeFlag(command, "dry-run", cobra.FixedCompletions([]cobra.Completion{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp)),
	)
}

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (o *transferOptions) validate() error {
	switch {
	case o.target == "":
		return errors.New("give --to NODE, the node that shall own the stream: kubectl stream nodes lists them")
	case o.expectedEpoch < 0:
		return fmt.Errorf("--expected-epoch %d: epochs begin at 1", o.expectedEpoch)
	case o.deadline != 0 && (o.deadline < time.Second || o.deadline%time.Second != 0):
		return fmt.Errorf("--deadline %s: use whole seconds, at least one", o.deadline)
	case o.keep < 0 || o.keep%time.Second != 0:
		return fmt.Errorf("--keep %s: use whole seconds", o.keep)
	case o.dryRun != dryRunNone && o.dryRun != dryRunClient && o.dryRun != dryRunServer:
		return fmt.Errorf("--dry-run=%s: use %s, %s or %s", o.dryRun, dryRunNone, dryRunClient, dryRunServer)
	}
	return nil
}

// manifest is the StreamTransfer that the flags ask for.
func (o *transferOptions) manifest(stream *v1alpha1.Stream) *v1alpha1.StreamTransfer {
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: o.name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream.Name, Target: o.target, Force: o.force},
	}
	if o.name == "" {
		transfer.GenerateName = stream.Name + "-"
	}
	if o.expectedEpoch > 0 {
		transfer.Spec.ExpectedEpoch = &o.expectedEpoch
	}
	if o.deadline > 0 {
		transfer.Spec.DeadlineSeconds = seconds(o.deadline)
	}
	if o.keep > 0 {
		transfer.Spec.TTLSecondsAfterFinished = seconds(o.keep)
	}
	return transfer
}

// nameHere names a transfer that the API server does not see, as it would: kubectl apply takes no manifest without a name.
func nameHere(transfer *v1alpha1.StreamTransfer, id string) {
	if transfer.Name != "" {
		return
	}
	prefix := transfer.GenerateName
	transfer.Name = prefix[:min(len(prefix), maxGeneratedPrefix)] + strings.ToLower(id[:min(len(id), generatedEnding)])
	transfer.GenerateName = ""
}

// Of a name that the API server generates: how much of generateName it keeps, and the length of its random ending.
const (
	maxGeneratedPrefix = 58
	generatedEnding    = 5
)

func seconds(d time.Duration) *int32 {
	return new(int32(min(d/time.Second, math.MaxInt32))) //nolint:gosec // cannot overflow
}

func (a *access) transfer(ctx context.Context, argument string, o *transferOptions, out *output) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, stream, err := a.stream(ctx, argument)
	if err != nil {
		return err
	}
	if _, err := node(ctx, c, o.target); err != nil {
		return err
	}
	if stream.Status.Node == o.target && stream.Status.PendingTransfer == nil && out.forPeople() {
		fmt.Fprintf(a.Out, "stream/%s is on %s already, at epoch %d\n", shownName(stream.Name), o.target, stream.Status.Epoch)
		return nil
	}
	transfer := o.manifest(stream)
	if o.dryRun == dryRunClient {
		nameHere(transfer, a.NewID())
		return out.done(transfer, "(dry run)", a.Out)
	}
	var options []client.CreateOption
	if o.dryRun == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	if err := c.Create(ctx, transfer, options...); err != nil {
		return err // a webhook's sentence says everything
	}
	switch {
	case o.dryRun == dryRunServer:
		return out.done(transfer, "(server dry run)", a.Out)
	case !o.wait:
		return out.done(transfer, "", a.Out)
	}
	messages := a.messages(out)
	fmt.Fprintf(messages, "streamtransfer/%s created\n", transfer.Name)
	last, err := awaitTransfer(ctx, c, transfer, o.timeout, messages)
	if err != nil {
		return err
	}
	result, sentence := outcomeOf(last)
	if result != moved {
		return errors.New(sentence)
	}
	if !out.forPeople() {
		return out.object(last, a.Out)
	}
	_, err = fmt.Fprintln(a.Out, sentence)
	return err
}

// messages is where a command says what it does: not among the objects that -o asks for.
func (a *access) messages(out *output) io.Writer {
	if out.forPeople() {
		return a.Out
	}
	return a.ErrOut
}

// awaitTransfer waits for the end of a transfer, tells what it waits for meanwhile, and returns it as it is then.
func awaitTransfer(ctx context.Context, c client.WithWatch, transfer *v1alpha1.StreamTransfer, timeout time.Duration, messages io.Writer,
) (*v1alpha1.StreamTransfer, error) {
	bounded, cancel := limited(ctx, timeout)
	defer cancel()
	last, deleted, told := transfer, false, ""
	f := &followed[*v1alpha1.StreamTransfer]{
		client: c, key: client.ObjectKeyFromObject(transfer), empty: func() *v1alpha1.StreamTransfer { return &v1alpha1.StreamTransfer{} },
		list: &v1alpha1.StreamTransferList{},
		look: func(now *v1alpha1.StreamTransfer, found bool) bool {
			if deleted = !found || now.UID != transfer.UID; deleted {
				return true
			}
			last = now
			result, sentence := outcomeOf(now)
			if result != underWay {
				return true
			}
			if sentence != told && now.Status.Phase != "" {
				told = sentence
				fmt.Fprintln(messages, sentence)
			}
			return false
		},
	}
	err := f.follow(bounded)
	_, waiting := outcomeOf(last)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, endf(StatusTimedOut, "timed out after %s, and the transfer goes on: %s (kubectl stream cancel %s withdraws it)",
			timeout, waiting, transfer.Name)
	case errors.Is(err, context.Canceled):
		return nil, endf(StatusInterrupted, "interrupted, and the transfer goes on: %s (kubectl stream cancel %s withdraws it)", waiting, transfer.Name)
	case err != nil:
		return nil, err
	case deleted:
		return nil, fmt.Errorf("streamtransfer/%s was deleted before its end was seen: kubectl stream status %s tells who owns the stream",
			transfer.Name, shownName(transfer.Spec.Stream))
	}
	return last, nil
}
