package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"minikv/internal/resp"
)

// Golden files (testdata/*.txt) hold commands and what redis-server 7.0.15
// answers to them. They run against the engine always and, when REDIS_SERVER is
// host:port of an empty server, against that one too; -rewrite records from it.
// Blocks:
//
//	do [client=NAME] [proto=3] [sort] [blocks] [quiet]
//	    Each line is a command in redis-cli's quoting, each reply is described
//	    by resp.Describe. A client is made when it is first named, proto counts
//	    then. A word @NAME is that client's ID. sort: orders the elements of each reply. blocks: the command is
//	    left waiting. quiet: what it replies is thrown away.
//	pipe [client=NAME]
//	    Each line is a command; they are sent at once, and nothing is waited for.
//	recv [client=NAME]
//	    What has come for a client that no command waited for.
//	close [client=NAME]
//	    The client leaves.
//	sleep MILLISECONDS
//	    Time passes: virtual for the engine, real for a server.
//	mask
//	    Lines REGEXP -> REPLACEMENT, applied to all output of the file from here
//	    on, for what differs from run to run.
func TestGolden(t *testing.T) {
	address := os.Getenv("REDIS_SERVER")
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if address != "" {
			t.Run("redis/"+name, func(t *testing.T) { runGolden(t, file, newRealTarget(t, address)) })
		}
		if address == "" || !rewriting() {
			t.Run("engine/"+name, func(t *testing.T) { runGolden(t, file, newEngineTarget()) })
		}
	}
}

// TestGoldenFilesNameEveryCommand keeps a command from being built without its
// replies having been compared with Redis's.
func TestGoldenFilesNameEveryCommand(t *testing.T) {
	used := map[string]bool{}
	for _, words := range goldenCommands(t) {
		used[strings.ToUpper(words[0])] = true
		if len(words) > 1 {
			used[strings.ToUpper(words[0]+" "+words[1])] = true
		}
	}
	for _, cmd := range table {
		if !used[cmd.Name] {
			t.Errorf("no golden file uses %s", cmd.Name)
		}
		for _, sub := range cmd.Sub {
			if !used[cmd.Name+" "+sub.Name] {
				t.Errorf("no golden file uses %s %s", cmd.Name, sub.Name)
			}
		}
	}
}

// goldenCommands is every command line of the do blocks.
func goldenCommands(t *testing.T) (commands [][]string) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		inside := false
		for _, line := range strings.Split(string(text), "\n") {
			switch {
			case line == "do" || strings.HasPrefix(line, "do "):
				inside = true
			case line == "----":
				inside = false
			case inside:
				commands = append(commands, strings.Fields(line))
			}
		}
	}
	return commands
}

func rewriting() bool {
	for _, arg := range os.Args {
		if strings.HasSuffix(arg, "-rewrite") || strings.HasSuffix(arg, "-rewrite=true") {
			return true
		}
	}
	return false
}

// target is what a golden file runs against.
type target interface {
	// send gives a client's commands to the server, which get there at once.
	send(client string, commands ...[][]byte)
	// settle returns when the server has done what it was sent, and what this
	// led to has come.
	settle()
	// next is the client's next reply or push; patient: one is due.
	next(client string, patient bool) (v resp.Value, ok bool)
	// connect makes a client.
	connect(client string, proto int)
	leave(client string)
	// id is the number that the server gave the client.
	id(client string) string
	sleep(d time.Duration)
	isReal() bool
}

// golden is the run of one file.
type golden struct {
	target  target
	clients map[string]bool
	masks   []mask
}

type mask struct {
	pattern     *regexp.Regexp
	replacement string
}

// runGolden runs a file.
func runGolden(t *testing.T, file string, tg target) {
	g := &golden{target: tg, clients: map[string]bool{}}
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Rewrite && !tg.isReal() {
			d.Fatalf(t, "-rewrite records from redis-server: set REDIS_SERVER")
		}
		out, err := g.block(t, d)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return g.mask(out)
	})
}

func (g *golden) block(t *testing.T, d *datadriven.TestData) (string, error) {
	client := "a"
	if d.HasArg("client") {
		d.ScanArgs(t, "client", &client)
	}
	switch d.Cmd {
	case "do":
		return g.do(t, d, client)
	case "pipe":
		return "", g.pipe(t, d, client)
	case "recv":
		return g.receive(client), nil
	case "close":
		g.target.leave(client)
		delete(g.clients, client)
		return "", nil
	case "sleep":
		millis, err := strconv.Atoi(d.CmdArgs[0].Key)
		g.target.sleep(time.Duration(millis) * time.Millisecond)
		return "", err
	case "mask":
		return "", g.addMasks(d.Input)
	}
	return "", fmt.Errorf("unknown block %q", d.Cmd)
}

// introduce makes the client if it is named for the first time.
func (g *golden) introduce(t *testing.T, d *datadriven.TestData, client string) {
	if g.clients[client] {
		return
	}
	proto := 2
	if d.HasArg("proto") {
		d.ScanArgs(t, "proto", &proto)
	}
	g.target.connect(client, proto)
	g.clients[client] = true
}

// command reads a line.
func (g *golden) command(line string) ([][]byte, error) {
	cmd, ok := resp.SplitArgs([]byte(line))
	if !ok || len(cmd) == 0 {
		return nil, fmt.Errorf("no command: %s", line)
	}
	g.nameClients(cmd)
	return cmd, nil
}

// pipe sends commands, and returns when the server has had the time to take them.
func (g *golden) pipe(t *testing.T, d *datadriven.TestData, client string) error {
	g.introduce(t, d, client)
	var commands [][][]byte
	for _, line := range strings.Split(d.Input, "\n") {
		cmd, err := g.command(line)
		if err != nil {
			return err
		}
		commands = append(commands, cmd)
	}
	g.target.send(client, commands...)
	g.target.settle()
	return nil
}

func (g *golden) do(t *testing.T, d *datadriven.TestData, client string) (string, error) {
	g.introduce(t, d, client)
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		cmd, err := g.command(line)
		if err != nil {
			return "", err
		}
		g.target.send(client, cmd)
		due := repliesDue(cmd)
		switch {
		case d.HasArg("quiet"):
			g.receive(client)
			due = 0
		case d.HasArg("blocks"):
			g.target.settle()
			if _, replied := g.target.next(client, false); replied {
				return "", fmt.Errorf("did not block: %s", line)
			}
			out.WriteString("(blocks)\n")
			due = 0
		}
		for due > 0 {
			v, ok := g.target.next(client, true)
			if !ok {
				return "", fmt.Errorf("no reply to: %s", line)
			}
			if d.HasArg("sort") {
				sortReply(v)
			}
			out.WriteString(resp.Describe(v) + "\n")
			if v.Kind == resp.Error || v.Kind == resp.Status {
				break // SUBSCRIBE inside MULTI, or refused
			}
			if v.Kind != resp.Push || isSubscription(cmd) {
				due--
			}
		}
	}
	return out.String(), nil
}

// nameClients puts IDs in the place of @NAME.
func (g *golden) nameClients(cmd [][]byte) {
	for i, word := range cmd {
		if name, ok := strings.CutPrefix(string(word), "@"); ok && g.clients[name] {
			cmd[i] = []byte(g.target.id(name))
		}
	}
}

func (g *golden) receive(client string) string {
	g.target.settle()
	var out strings.Builder
	for {
		v, ok := g.target.next(client, false)
		if !ok {
			return out.String()
		}
		out.WriteString(resp.Describe(v) + "\n")
	}
}

// repliesDue is how many replies a command has.
func repliesDue(cmd [][]byte) int {
	if isSubscription(cmd) {
		return max(1, len(cmd)-1)
	}
	return 1
}

func isSubscription(cmd [][]byte) bool {
	return strings.HasSuffix(strings.ToUpper(string(cmd[0])), "SUBSCRIBE")
}

// sortReply orders the elements of an array or set, the pairs of a map, and
// those of what is inside.
func sortReply(v resp.Value) {
	for _, element := range v.List {
		sortReply(element)
	}
	if v.Kind != resp.Map {
		sort.SliceStable(v.List, func(i, j int) bool { return resp.Describe(v.List[i]) < resp.Describe(v.List[j]) })
		return
	}
	pairs := make([][2]resp.Value, len(v.List)/2)
	for i := range pairs {
		pairs[i] = [2]resp.Value{v.List[2*i], v.List[2*i+1]}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return resp.Describe(pairs[i][0]) < resp.Describe(pairs[j][0]) })
	for i, pair := range pairs {
		v.List[2*i], v.List[2*i+1] = pair[0], pair[1]
	}
}

func (g *golden) addMasks(lines string) error {
	for _, line := range strings.Split(lines, "\n") {
		at := strings.LastIndex(line, " -> ")
		if at < 0 {
			return fmt.Errorf("no mask: %s", line)
		}
		pattern, err := regexp.Compile("(?m)" + line[:at])
		if err != nil {
			return err
		}
		g.masks = append(g.masks, mask{pattern, line[at+len(" -> "):]})
	}
	return nil
}

func (g *golden) mask(out string) string {
	for _, m := range g.masks {
		out = m.pattern.ReplaceAllString(out, m.replacement)
	}
	return out
}
