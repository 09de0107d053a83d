package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"minikv/internal/memory"
)

// Exit codes.
const (
	exitExpected    = 0
	exitDiffers     = 1   // a verdict differs from what the scenario expects
	exitUsage       = 2   // wrong arguments, or a scenario that cannot be read
	exitNotSame     = 3   // a replay went another way than what was recorded
	exitInterrupted = 130 // Ctrl-C
)

// errStopped says that a hunt was interrupted; what it had found was told.
var errStopped = errors.New("interrupted")

// errNotSame says that a replay went another way.
var errNotSame = errors.New("the replay is not the run that was recorded")

// errDiffers says that a verdict was not as expected; the report has said so.
var errDiffers = errors.New("a verdict differs from what was expected")

// garbage is by how many percent the heap may grow before it is swept: runs
// leave much behind, and keep little. With it the program takes 150 MB.
const garbage = 400

// roomy is how many bytes the program takes before it sweeps sooner, unless GOMEMLIMIT
// says another number: a search of every order keeps what it has seen, gigabytes with
// the largest worlds.
const roomy = 2 << 30

func main() {
	debug.SetGCPercent(garbage)
	memory.Respect(roomy)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends what takes its time after the first
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// output is where a command writes. Whoever writes a line may leave its error there.
type output struct {
	io.Writer
	err error // the first
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// run is the program: arguments in, exit code out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	out := &output{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	switch {
	case err == nil:
		return exitExpected
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.Is(err, errNotSame):
		fmt.Fprintln(stderr, "locksim:", err)
		return exitNotSame
	case errors.Is(err, errStopped):
		return exitInterrupted
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "locksim: interrupted: there is no verdict")
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE):
		return exitExpected // the reader has seen enough
	}
	fmt.Fprintln(stderr, "locksim:", err)
	return exitUsage
}
