package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"minikv/lockclient"
)

// TestWalksReachEveryStatement: the walks of each script run without an error of
// the script's own, each goes another way, and together they come to every line
// that has a statement.
func TestWalksReachEveryStatement(t *testing.T) {
	for _, file := range lockclient.ShippedNames() {
		t.Run(file, func(t *testing.T) {
			text, walks, ok := lockScript(file)
			require.True(t, ok)
			require.NotEmpty(t, walks, "there is no walks/%s.walk", file)
			missing := statements(t, text)
			seen := map[string]string{}
			for _, w := range walks {
				r, err := record(t.Context(), w.exercise)
				require.NoError(t, err, w.about)
				require.Equal(t, text, r.Script, "it is shown as it is written")
				require.NotContains(t, r.Reply, "user_script:", w.about)
				for _, s := range r.Steps {
					delete(missing, s.Line)
				}
				did := strings.Join(effects(r), "\n")
				require.Empty(t, seen[did], "%q does what another does", w.about)
				seen[did] = w.about
			}
			require.Empty(t, missing, "lines of %s that no walk comes to", file)
		})
	}
}

// effects are what a run did, as text.
func effects(r *recording) []string {
	list := []string{r.Reply}
	for _, s := range r.Steps {
		for _, c := range s.Calls {
			list = append(list, c.Command+" = "+c.Reply)
		}
		for _, c := range s.Changes {
			list = append(list, c.Key+" = "+c.After)
		}
	}
	return list
}

// statements are the lines of a script on which a statement begins; an elseif is
// a part of one.
func statements(t *testing.T, script string) map[int]bool {
	chunk, err := parse.Parse(strings.NewReader(script), "script")
	require.NoError(t, err)
	lines, texts := map[int]bool{}, strings.Split(script, "\n")
	var walk func(list []ast.Stmt)
	walk = func(list []ast.Stmt) {
		for _, s := range list {
			if !strings.HasPrefix(strings.TrimSpace(texts[s.Line()-1]), "elseif ") {
				lines[s.Line()] = true
			}
			switch s := s.(type) {
			case *ast.IfStmt:
				walk(s.Then)
				walk(s.Else)
			case *ast.WhileStmt:
				walk(s.Stmts)
			case *ast.NumberForStmt:
				walk(s.Stmts)
			case *ast.GenericForStmt:
				walk(s.Stmts)
			case *ast.LocalAssignStmt:
				for _, value := range s.Exprs {
					if f, ok := value.(*ast.FunctionExpr); ok {
						walk(f.Stmts)
					}
				}
			}
		}
	}
	walk(chunk)
	return lines
}
