package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
	"unicode/utf8"
)

// The largest sizes allowed.
const (
	maxFileLines     = 500
	maxDocLines      = 60 // of a doc.go: under a page
	maxFunctionLines = 60
	maxColumns       = 120 // characters; a tab is one
)

// checkSizes sees that nothing outgrows a reader's patience.
func checkSizes(f *file, report reporter) {
	limit := maxFileLines
	if path.Base(f.path) == "doc.go" {
		limit = maxDocLines
	}
	if lines := bytes.Count(f.source, []byte("\n")); lines > limit {
		report(limit+1, fmt.Sprintf("file of %d lines: at most %d", lines, limit))
	}
	for number, text := range numbered(f.source) {
		if n := utf8.RuneCountInString(text); n > maxColumns && !strings.Contains(text, "://") {
			report(number, fmt.Sprintf("line of %d characters: at most %d", n, maxColumns))
		}
	}
	checkFunctions(f, report)
}

// checkFunctions looks at outermost functions; a function inside another
// counts with it.
func checkFunctions(f *file, report reporter) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		var name string
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = "function " + n.Name.Name
		case *ast.FuncLit:
			name = "function"
		default:
			return true
		}
		if lines := functionLines(f, n); lines > maxFunctionLines {
			at := n.Pos()
			report(f.line(at), fmt.Sprintf("%s of %d lines: at most %d", name, lines, maxFunctionLines))
		}
		return false
	})
}

// functionLines is the length of a function with its doc comment left out and
// each table inside counted as one line.
func functionLines(f *file, function ast.Node) int {
	lines := 0
	ast.Inspect(function, func(n ast.Node) bool {
		switch {
		case n == nil:
			return false
		case n == function:
			lines = f.line(n.End()) - f.line(n.Pos()) + 1
		case isTable(n):
			lines -= f.line(n.End()) - f.line(n.Pos())
			return false
		}
		return true
	})
	return lines
}

// isTable reports whether n is data: a composite literal that holds no code,
// or a string.
func isTable(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		return n.Kind == token.STRING
	case *ast.CompositeLit:
		code := false
		ast.Inspect(n, func(n ast.Node) bool {
			_, isCode := n.(*ast.FuncLit)
			code = code || isCode
			return !code
		})
		return !code
	}
	return false
}
