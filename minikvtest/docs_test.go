package minikvtest_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/minikvtest"
)

var rewrite = flag.Bool("rewrite", false, "write the documents that the tests check")

const (
	testingDoc   = "../docs/testing.md"
	migrationDoc = "../docs/migration-from-miniredis.md"
	testingHead  = `# Testing a lock

Recipes for testing a lock, or anything that rests on one, with package ` + "`minikvtest`" + `: how
to have leases end, replies get lost and masters fail. Each recipe is a test of this
repository, in minikvtest/recipes_test.go. The page is made from them:
` + "`go test ./minikvtest -run TestTestingDocument -rewrite`" + `

- **In other languages** ` + "`minikv --control`" + ` does the same; see control.md.
- **Faults at random:** in a recipe the test says what goes wrong, and when. Package ` + "`sim/simtest`" + `
  looks for it by itself; see the end of this page.

Four things to know first:

- **Time** is the computer's, unless the test asks for ` + "`minikvtest.Virtual()`" + `. In a bubble of
  testing/synctest it is the bubble's.
- **Losses.** What a rule loses is lost as on a network: the connection stays silent from then
  on, or breaks, if the rule says Close. Many clients send a command again by themselves;
  switch that off to see what the lock itself does. On silence go-redis waits for its
  ReadTimeout; it heeds the end of a context only with ContextTimeoutEnabled.
- **In a bubble** everything must end before the test does, so close clients. In a cluster
  go-redis looks for new masters once a minute, unless ClusterStateReloadInterval says
  otherwise.
- **Subtests** use their parent's servers by In(t), so that each fails for itself.
`
	testingTail = `
## Faults that nobody has thought of

` + "`simtest.Run`" + ` tries a lock that is written against lockclient's Transport and Runtime in a
thousand simulated worlds. A failing test prints the shortest story, why it happened, what
would have saved it, the line that replays it, and a page that shows it. Such a lock is in
sim/simtest/example_test.go; [scenarios.md](scenarios.md) lists everything that a scenario may say.

What the scenario asks for decides which mistake is found, in a lock that is otherwise right:

| the scenario says | the mistake that it finds |
|---|---|
| ` + "`expect exclusion=holds`" + `, ` + "`faults delay lost-reply drop`" + ` |` +
		` the lease counts from the reply, not from the request |
| ` + "`expect theft=holds`" + `, ` + "`faults delay pause`" + ` |` +
		` the release asks who has the lock, and then deletes it |
| ` + "`expect fencing=holds`" + `, ` + "`faults delay pause`" + `, ` + "`world … fence=on`" + ` |` +
		` the fencing token does not grow with each grant |
| ` + "`expect fencing=holds`" + `, ` + "`faults delay pause client-offset`" + `, ` + "`world … fence=on`" + ` |` +
		` the fencing token is a date |
| ` + "`expect progress=holds`" + `, ` + "`faults drop lost-reply lost-message`" + `,` +
		` ` + "`world … bound=30s`" + ` | a waiter is woken by a message alone |
| ` + "`expect own=holds`" + ` | what a Checker of your own says (sim.Own's Check) |

- A pause longer than the lease, or a clock that jumps, breaks the exclusion of every lock that
  rests on a lease, since its holder cannot know. With these faults ask for theft and fencing;
  ask for exclusion with the others.
- Thefts are seen of what is stored under the lock's own name, Client.Key: a text that is
  no number, or a hash of owners.
- Let hold= and think= be ranges that begin at 0, as in hold=0s..50ms think=0s..100ms. With fixed
  ones clients meet at the same place of their rounds each time, and never where a release comes
  between another's look at the lock and its wait. A wake-up that is lost shows with few rounds
  (rounds=3), or with a calm and liveness: later releases wake who has missed one.
- Beliefs of two tasks in one client do not count as an overlap: what must not be held at once, two
  clients have to take.
- If hold= is short beside ttl=, much of this does no harm. If the lease is renewed, make it
  longer.
- A Transport is one master (masters=5 gives five), with scripts, pub/sub and any command. A
  command that blocks, such as BLPOP, keeps the client's other requests waiting, unless the
  world line says pool=on. There is no pipeline. Use a script in place of a transaction.
- The first requests of a run say EVALSHA and get NOSCRIPT: a story may lose just that reply.
`
)

// TestTestingDocument keeps docs/testing.md to the recipes; -rewrite writes it.
func TestTestingDocument(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "recipes_test.go", nil, parser.ParseComments)
	require.NoError(t, err)
	text, count := testingHead, 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		switch {
		case !ok:
		case f.Name.Name == "take":
			text += "\nThe lock of the recipes:\n\n" + code(t, fset, file, "take", "compareAndDelete", "release", "connect")
		case strings.HasPrefix(f.Name.Name, "TestRecipe"):
			count++
			title, prose, _ := strings.Cut(f.Doc.Text(), "\n")
			text += "\n## " + title + "\n" + prose + "\n" + code(t, fset, file, f.Name.Name)
		}
	}
	require.GreaterOrEqual(t, count, 10)
	keep(t, testingDoc, text+testingTail)
}

// code is declarations of a file as a block.
func code(t *testing.T, fset *token.FileSet, file *ast.File, names ...string) string {
	var parts []string
	for _, name := range names {
		var node any
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == name {
					node = &printer.CommentedNode{Node: &ast.FuncDecl{
						Recv: d.Recv, Name: d.Name, Type: d.Type, Body: d.Body}, Comments: file.Comments}
				}
			case *ast.GenDecl:
				if v, ok := d.Specs[0].(*ast.ValueSpec); ok && v.Names[0].Name == name {
					node = d
				}
			}
		}
		require.NotNil(t, node, name)
		var b bytes.Buffer
		require.NoError(t, (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}).
			Fprint(&b, fset, node))
		parts = append(parts, b.String())
	}
	return "```go\n" + strings.Join(parts, "\n\n") + "\n```\n"
}

// keep compares a document with what it should be.
func keep(t *testing.T, name, text string) {
	if *rewrite {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	have, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "go test ./minikvtest -run %s -rewrite", t.Name())
}

// TestMigrationDocument sees that every name which the page gives for minikvtest exists.
func TestMigrationDocument(t *testing.T) {
	text, err := os.ReadFile(migrationDoc)
	require.NoError(t, err)
	methods := map[string]bool{}
	for _, v := range []any{&minikvtest.Server{}, &minikvtest.Servers{}, &minikvtest.Node{}, &minikvtest.Database{},
		&minikvtest.Clock{}, minikvtest.Fault{}, &minikvtest.Injected{}} {
		for i := range reflect.TypeOf(v).NumMethod() {
			methods[reflect.TypeOf(v).Method(i).Name] = true
		}
	}
	exported := exportedFunctions(t)
	names := 0
	for _, row := range regexp.MustCompile("(?m)^\\|.*\\|(.*)\\|.*\\|$").FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile(`([A-Za-z.]*)\b([A-Z]\w*)\(`).FindAllStringSubmatch(row[1], -1) {
			names++
			if name[1] == "t." {
				continue // the reader's own
			}
			known := methods[name[2]]
			if name[1] == "minikvtest." {
				known = exported[name[2]]
			}
			require.True(t, known, "%s in %s", name[0], row[0])
		}
	}
	require.Greater(t, names, 40)
}

// exportedFunctions are the functions of package minikvtest.
func exportedFunctions(t *testing.T) map[string]bool {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}
