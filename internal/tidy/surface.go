package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// forUsers are the packages that other modules write code against.
var forUsers = []string{
	"lockclient", "lockclient/goredis", "lockclient/locktest", "lockclient/rueidis", "lockclient/slogobserver",
	"lockclient/synclocker", "minikvtest", "sim", "sim/check", "sim/simtest", "trace",
}

// checkSurface sees that what a package gives to other modules has no type that these
// cannot name, as they may not import what is internal.
func checkSurface(f *file, report reporter) {
	if f.isTest() || !slices.Contains(forUsers, f.folder()) {
		return
	}
	hidden := map[string]bool{} // by the name that the file uses
	for _, spec := range f.syntax.Imports {
		name := importPath(spec)
		if !strings.Contains("/"+name+"/", "/internal/") {
			continue
		}
		local := path.Base(name)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		hidden[local] = true
	}
	for _, decl := range f.syntax.Decls {
		for _, part := range surface(decl) {
			ast.Inspect(part, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := s.X.(*ast.Ident); ok && hidden[of.Name] {
						report(f.line(s.Pos()), of.Name+"."+s.Sel.Name+": other modules cannot name it")
					}
				}
				return true
			})
		}
	}
}

// surface is what one declaration shows: signatures, and types without their
// unexported fields.
func surface(decl ast.Decl) (shown []ast.Node) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && hasExportedReceiver(decl) {
			shown = append(shown, decl.Type)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					shown = append(shown, shownOf(spec.Type)...)
				}
			case *ast.ValueSpec:
				if spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
					shown = append(shown, spec.Type)
				}
			}
		}
	}
	return shown
}

func shownOf(t ast.Expr) (shown []ast.Node) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return []ast.Node{t}
	}
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			shown = append(shown, field.Type)
		}
	}
	return shown
}
