package locks

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"minikv/interop/page"
)

var rewrite = flag.Bool("rewrite", false, "write the table into docs/interop.md")

// section of docs/interop.md has the table.
const section = "lock libraries"

// column is what one client did on one server.
type column struct {
	library string            // with its version
	lines   map[string]string // by case
}

func skipUnbuilt(t *testing.T) {
	if os.Getenv("INTEROP_LOCKS") == "" {
		t.Skip("interop/run.sh builds the workers and runs this")
	}
}

// Every client does the same on minikv as on redis-server, in every case.
func TestClients(t *testing.T) {
	skipUnbuilt(t)
	started, kinds := startWorkers(t, "go", "node", "python", "java"), servers(t)
	columns := map[[2]string]*column{}
	for _, c := range clients {
		for _, s := range kinds {
			columns[[2]string{c.library, s.name}] = &column{lines: map[string]string{}}
		}
	}
	t.Run("client", func(t *testing.T) {
		for _, c := range clients {
			if started[c.language] == nil {
				continue
			}
			for _, s := range kinds {
				t.Run(c.library+" on "+s.name, func(t *testing.T) {
					t.Parallel()
					play(t, c, started[c.language], s, columns[[2]string{c.library, s.name}])
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	var lines [][]string
	everybody := true
	for _, c := range clients {
		if columns[[2]string{c.library, kinds[0].name}].library == "" {
			everybody = false // not built, or not asked for
			continue
		}
		for _, of := range cases {
			var line []string
			for _, s := range kinds {
				found := columns[[2]string{c.library, s.name}]
				line = append(line, found.lines[of.name])
				if len(line) == 1 {
					line = []string{found.library, of.name, line[0]}
				}
			}
			lines = append(lines, line)
		}
	}
	judge(t, kinds, lines, everybody)
}

// play has a client go through all cases.
func play(t *testing.T, c client, w *worker, s server, result *column) {
	b := &bout{client: c, world: s.start(t, c.absolute)}
	for i, p := range []**party{&b.a, &b.b, &b.c} {
		id := fmt.Sprintf("%s-%s-%c", c.library, s.name, 'A'+i)
		*p = open(t, w, c, b.world, id)
		(*p).reconnect(t)
	}
	result.library = cmp.Or(c.called, c.library) + " " + b.a.version
	for _, of := range cases {
		b.name, b.told = "orders-"+strings.ReplaceAll(strings.ReplaceAll(of.name, ",", ""), " ", "-"), nil
		of.run(t, b)
		result.lines[of.name] = strings.Join(b.told, "; ")
	}
}

// judge prints the table, requires its columns to be equal and the document to
// have its lines, or writes it there.
func judge(t *testing.T, kinds []server, lines [][]string, everybody bool) {
	header := []string{"client", "case"}
	for _, s := range kinds {
		header = append(header, s.name)
	}
	table := page.Table(header, lines)
	fmt.Print(table)
	for _, line := range lines {
		if len(line) == 4 {
			assert.Equal(t, line[3], line[2], "%s, %s: redis-server's line, and minikv's", line[0], line[1])
		}
	}
	if *rewrite {
		require.True(t, everybody && len(kinds) == 2, "the document has the table of all clients on both servers")
		page.Write(t, section, table)
		return
	}
	compare(t, lines, everybody)
}

// compare requires the document to have these lines, and no others if everybody took part.
func compare(t *testing.T, lines [][]string, everybody bool) {
	recorded := map[string]bool{}
	for line := range strings.Lines(page.Read(t, section)) {
		recorded[strings.Join(strings.Fields(line), " ")] = true
	}
	var missing []string
	for _, line := range lines {
		for len(line) < 4 { // without redis-server
			line = append(line, line[2])
		}
		if text := "| " + strings.Join(line, " | ") + " |"; !recorded[text] {
			missing = append(missing, text)
		}
	}
	assert.Empty(t, missing, "not in docs/interop.md; if this is as it should be: interop/run.sh -rewrite")
	if everybody {
		assert.Len(t, recorded, len(lines)+2, "lines in docs/interop.md: those, the header and the rule")
	}
}
