package tidy

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// unorderedMark ends a line that ranges over a map and gives the reason why
// the order cannot be seen.
const unorderedMark = "//tidy:unordered"

// mapIterators range over a map in its own order. gopher-lua's tables hold Go
// maps; their Next walks in a fixed order, ForEach does not.
var mapIterators = map[string]bool{
	"maps.All":    true,
	"maps.Keys":   true,
	"maps.Values": true,
	"(*github.com/yuin/gopher-lua.LTable).ForEach": true,
}

// sorters bring the sequence that they are given into order.
var sorters = map[string]bool{"slices.Sorted": true, "slices.SortedFunc": true, "slices.SortedStableFunc": true}

// checkOrder finds every iteration over a map that is neither sorted at once
// nor marked, and every mark that gives no reason or stands for nothing.
func checkOrder(f *file, report reporter) {
	marked, unordered := unorderedMarks(f, report), mapOrders(f)
	for line := range unordered {
		if !marked[line] {
			report(line, "range over a map: sort the keys, or end the line in "+unorderedMark+" and why")
		}
	}
	for line := range marked {
		if !unordered[line] {
			report(line, unorderedMark+": this line ranges over no map")
		}
	}
}

// unorderedMarks returns the lines that are marked.
func unorderedMarks(f *file, report reporter) map[int]bool {
	marks := map[int]bool{}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			reason, ok := strings.CutPrefix(comment.Text, unorderedMark)
			if !ok {
				continue
			}
			marks[f.line(comment.Pos())] = true
			if strings.TrimSpace(reason) == "" {
				report(f.line(comment.Pos()), unorderedMark+": say why the order cannot be seen")
			}
		}
	}
	return marks
}

// mapOrders returns the lines whose effect may depend on the order of a map.
func mapOrders(f *file) map[int]bool {
	lines := map[int]bool{}
	sorted := map[ast.Expr]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if isUnder[*types.Map](f.info.TypeOf(n.X)) {
				lines[f.line(n.Pos())] = true
			}
		case *ast.CallExpr:
			switch name := callee(f.info, n); {
			case sorters[name]:
				sorted[n.Args[0]] = true
			case mapIterators[name] && !sorted[n]:
				lines[f.line(n.Pos())] = true
			}
		}
		return true
	})
	return lines
}

// callee is the full name of the called function, "" if it is not known.
func callee(info *types.Info, call *ast.CallExpr) string {
	if f := typeutil.StaticCallee(info, call); f != nil {
		return f.FullName()
	}
	return ""
}
