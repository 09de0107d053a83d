package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikv/internal/resp"
	"minikv/server"
	"minikv/server/engine"
)

// errDiffers is a comparison that found differences.
var errDiffers = errors.New("the replies differ")

// newDiff is the subcommand that compares minikv with another server.
func newDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff HOST:PORT FILE",
		Short: "Send the commands of a file to minikv and to another server, and compare the replies",
		Long: `diff sends the commands of FILE, or of standard input if it is "-", to a minikv of
its own and to the server at HOST:PORT, and prints the first replies that differ. The server should be
an empty redis-server ` + engine.Version + `. Nothing is flushed there: its keys change as the commands say.

Each line is a command as redis-cli takes it, with its quotes and escapes; empty lines and those that
begin with # are skipped. "client=NAME" before a command sends it from another connection, and
"sleep=MILLISECONDS" alone on a line waits. A golden file of this project will do too: the commands of
its do blocks are compared, and its sleeps are kept.

The exit code is 0 if all replies are the same, 1 if some differ, and 2 if FILE or the server cannot be
used.`,
		Example: `  minikv diff 127.0.0.1:6379 commands.txt
  echo 'SET k v PX 0' | minikv diff 127.0.0.1:6379 -`,
		Args:          exactly(2),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readCommands(args[1], cmd.InOrStdin())
			if err != nil {
				return err
			}
			steps, err := parseSteps(args[1], text)
			if err != nil {
				return err
			}
			return compare(args[0], args[1], steps, cmd.OutOrStdout())
		},
	}
}

func readCommands(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return readAtMost(stdin)
	}
	return readText(file)
}

// step is one command of one client, or a time to wait.
type step struct {
	line   int // in the file, from 1
	client string
	proto  int
	words  [][]byte
	sleep  time.Duration
}

// parseSteps reads a file of commands, or a golden file, which is told by its
// lines of dashes.
func parseSteps(file string, text []byte) (steps []step, err error) {
	golden := bytes.Contains(text, []byte("\n----\n"))
	const between, commands, replies = 0, 1, 2
	state, block := commands, step{proto: 2}
	if golden {
		state = between
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case golden && line == "":
			state = between
			continue
		case golden && line == "----":
			state = replies
			continue
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" || state == replies:
			continue
		}
		one := block
		if state == between {
			var isDo bool
			if block, isDo, err = parseDirective(line); err == nil && isDo {
				state = commands
			} else {
				state = replies // what the directive has is not sent
			}
			one = block
		} else {
			err = one.parse(line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if one.line = i + 1; one.words != nil || one.sleep > 0 {
			steps = append(steps, one)
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s: no commands", file)
	}
	return steps, nil
}

// parseDirective reads the first line of a golden file's block.
func parseDirective(line string) (s step, isDo bool, err error) {
	s.proto = 2
	words := strings.Fields(line)
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "client":
			s.client = value
		case name == "proto" && value == "3":
			s.proto = 3
		case name == "blocks" || name == "quiet":
			return step{}, false, fmt.Errorf("%q: commands that are left without a reply cannot be compared", line)
		}
	}
	if words[0] == "sleep" && len(words) > 1 {
		millis, err := strconv.ParseUint(words[1], 10, 31)
		return step{sleep: time.Duration(millis) * time.Millisecond}, false, err
	}
	return s, words[0] == "do", nil
}

// parse reads a line of a command.
func (s *step) parse(line string) error {
	words, ok := resp.SplitArgs([]byte(line))
	if !ok || len(words) == 0 {
		return errors.New("unbalanced quotes")
	}
	if millis, found := strings.CutPrefix(string(words[0]), "sleep="); found && len(words) == 1 {
		n, err := strconv.ParseUint(millis, 10, 31)
		s.sleep = time.Duration(n) * time.Millisecond
		return err
	}
	if name, found := strings.CutPrefix(string(words[0]), "client="); found {
		s.client, words = name, words[1:]
		if len(words) == 0 {
			return errors.New("client=NAME: expected a command after it")
		}
	}
	s.words = words
	return nil
}

// compare runs the steps on both servers.
func compare(address, file string, steps []step, stdout io.Writer) error {
	conf, err := parseArguments([]string{"--port", "0"}, nil)
	if err != nil {
		return err
	}
	silent := &logger{out: io.Discard}
	shell := server.New(server.Config{
		Machine: func(limit func() string) server.Machine { return engine.New(nodeConfig(conf, limit, silent)) },
	})
	defer shell.Close()
	own, err := shell.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	theirs, ours := &peer{address: address}, &peer{address: own.String()}
	defer theirs.close()
	defer ours.close()
	const shown = 10
	compared, different := 0, 0
	for _, s := range steps {
		if s.sleep > 0 {
			time.Sleep(s.sleep)
			continue
		}
		want, err := theirs.do(s)
		if err != nil {
			return err
		}
		got, err := ours.do(s)
		if err != nil {
			return err
		}
		compared++
		if want == got {
			continue
		}
		if different++; different <= shown {
			fmt.Fprintf(stdout, "%s:%d: %s\n%s\n%sminikv\n%s\n", file, s.line, bytes.Join(s.words, []byte(" ")),
				address, indented(want), indented(got))
		}
	}
	fmt.Fprintf(stdout, "%d of %d replies differ\n", different, compared)
	if different > 0 {
		return errDiffers
	}
	return nil
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// peer is a server that is compared, with a connection for each client.
type peer struct {
	address string
	clients map[string]*connection
}

// connection is what one client has with a server.
type connection struct {
	socket net.Conn
	in     []byte // what was received and not parsed yet
}

func (p *peer) close() {
	for _, c := range p.clients { //tidy:unordered each is closed
		_ = c.socket.Close()
	}
}

// do sends a command and returns its replies, with the pushes before them, as text.
func (p *peer) do(s step) (text string, err error) {
	c, err := p.client(s)
	if err != nil {
		return "", err
	}
	if _, err := c.socket.Write(resp.AppendCommand(nil, s.words...)); err != nil {
		return "", fmt.Errorf("%s: %w", p.address, err)
	}
	var b strings.Builder
	subscribes := strings.HasSuffix(strings.ToUpper(string(s.words[0])), "SUBSCRIBE")
	due := 1
	if subscribes {
		due = max(1, len(s.words)-1)
	}
	for due > 0 {
		v, ok, err := c.next()
		if err != nil { // where the next reply begins is not known
			_ = c.socket.Close()
			delete(p.clients, s.client)
			return fmt.Sprintf("%s(unreadable: %v)", b.String(), err), nil
		}
		if !ok {
			return b.String() + "(no reply)", nil
		}
		b.WriteString(resp.Describe(v) + "\n")
		switch {
		case v.Kind == resp.Error || v.Kind == resp.Status:
			due = 0 // SUBSCRIBE that is refused, or queued
		case v.Kind != resp.Push || subscribes:
			due--
		}
	}
	return b.String(), nil
}

// client is the connection of a step's client, made when it is first named.
func (p *peer) client(s step) (*connection, error) {
	if c := p.clients[s.client]; c != nil {
		return c, nil
	}
	socket, err := net.DialTimeout("tcp", p.address, patience)
	if err != nil {
		return nil, err
	}
	c := &connection{socket: socket}
	if p.clients == nil {
		p.clients = map[string]*connection{}
	}
	p.clients[s.client] = c
	if s.proto == 3 {
		hello := s
		hello.words = [][]byte{[]byte("HELLO"), []byte("3")}
		_, err = p.do(hello)
	}
	return c, err
}

// patience is how long a server may take for a reply.
const patience = 5 * time.Second

// next returns the next value; false if none comes in time or the server has
// closed the connection.
func (c *connection) next() (v resp.Value, ok bool, err error) {
	if err := c.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return v, false, err
	}
	for {
		v, n, err := resp.Parse(c.in)
		if n > 0 || err != nil {
			c.in = c.in[n:]
			return v, true, err
		}
		chunk := make([]byte, 64<<10)
		n, err = c.socket.Read(chunk)
		if err != nil {
			return v, false, nil
		}
		c.in = append(c.in, chunk[:n]...)
	}
}
