package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"minikv/topology"
)

// errOverlaps is a lock that two have held at once.
var errOverlaps = errors.New("a lock was held by two")

// newTrace is the subcommand that shows what --trace has written.
func newTrace() *cobra.Command {
	var key, node string
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "Show what --trace FILE has written, and which locks were held by two at once",
		Long: `trace prints the timeline that minikv --trace FILE has written, a line for each event: the time in
seconds since the start, by the clock that all nodes follow; the node; what the client sent and got.
The times at which a lock was held by two owners that must not hold it together come last.
With "-" it reads standard input.

Exit codes: 0, 1 if a lock was held by two, 2 if FILE cannot be read.`,
		Example: `  minikv exec --cluster 3x1 --trace out.jsonl -- pytest -q
  minikv trace out.jsonl --key orders:42`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			input := cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("trace %s: %w", args[0], unwrapPath(err))
				}
				defer func() { _ = file.Close() }()
				input = file
			}
			return showTrace(input, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr(), wanted{key, node})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "only events about this key")
	cmd.Flags().StringVar(&node, "node", "", "only events at this node, such as m1, and those that concern all nodes")
	return cmd
}

// wanted says which events are shown: those about a key, at a node; "": all.
type wanted struct{ key, node string }

// has reports whether an event is shown. What happens to nodes and to the clock
// is about every key.
func (w wanted) has(e topology.Event) bool {
	switch {
	case w.node != "" && e.Node != w.node && e.Node != "":
		return false
	case w.key == "" || e.Kind == topology.NodeEvent || e.Kind == topology.ClockMoved:
		return true
	}
	return w.names(e)
}

// names reports whether an event has the key in it.
func (w wanted) names(e topology.Event) bool {
	return e.Key == w.key || slices.Contains(e.Command, w.key)
}

// showTrace prints the events that are wanted, and the overlaps of their locks. It notes
// on stderr that there is nothing about a key or a node.
func showTrace(input io.Reader, name string, stdout, stderr io.Writer, show wanted) error {
	in, out := bufio.NewReader(input), bufio.NewWriter(stdout)
	defer func() { _ = out.Flush() }()
	holds := map[string][]topology.Event{} // what tells who held a lock when, by its key
	nodes, named := map[string]bool{"": true}, show.key == ""
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("trace %s: %w", name, unwrapPath(err))
		}
		last := err != nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e, err := parseEvent(line)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", name, number, err)
			}
			nodes[e.Node], named = true, named || show.names(e)
			if show.has(e) {
				fmt.Fprintln(out, numbered(e))
			}
			if e.Key != "" && (show.key == "" || e.Key == show.key) {
				holds[e.Key] = append(holds[e.Key], e)
			}
		}
		if last {
			break
		}
	}
	verdict := showOverlaps(holds, out)
	if err := out.Flush(); err != nil {
		return err
	}
	if !nodes[show.node] {
		fmt.Fprintf(stderr, "minikv: %s has no event at node %q; it has some at %s\n", name, show.node,
			strings.TrimPrefix(strings.Join(slices.Sorted(maps.Keys(nodes)), ", "), ", "))
	}
	if !named {
		fmt.Fprintf(stderr, "minikv: %s has no event about key %q\n", name, show.key)
	}
	return verdict
}

// showOverlaps prints when locks were held by two, in the order of their keys.
func showOverlaps(holds map[string][]topology.Event, out io.Writer) error {
	var bad error
	for _, key := range slices.Sorted(maps.Keys(holds)) {
		for _, o := range topology.Overlaps(holds[key], key) {
			bad = errOverlaps
			fmt.Fprintln(out, o)
		}
	}
	return bad
}

// parseEvent reads one line of a trace.
func parseEvent(line []byte) (e topology.Event, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return e, fmt.Errorf("not an event of a trace: %w", err)
	}
	if e.Number == 0 || e.Kind == "" {
		return e, errors.New("not an event of a trace: it has no number or no kind")
	}
	return e, nil
}
