package tidy

import (
	"go/ast"
	"path"
)

// undocumentedPackages finds the folders with Go files but no doc.go.
func undocumentedPackages(files []*file) []Violation {
	documented := map[string]bool{}
	for _, f := range files {
		if path.Base(f.path) == "doc.go" {
			documented[f.folder()] = true
		}
	}
	var found []Violation
	for _, f := range files {
		if f.syntax != nil && !documented[f.folder()] {
			documented[f.folder()] = true // said once
			found = append(found, Violation{File: f.path, Line: 1, What: "package without doc.go: say what it is"})
		}
	}
	return found
}

// checkDocs sees that the package comment is in doc.go and only there, and that
// every exported name has a comment.
func checkDocs(f *file, report reporter) {
	isDoc := path.Base(f.path) == "doc.go"
	switch {
	case isDoc && f.syntax.Doc == nil:
		report(1, "package comment: doc.go has none")
	case !isDoc && f.syntax.Doc != nil:
		report(f.line(f.syntax.Doc.Pos()), "package comment: belongs in doc.go")
	}
	if f.isTest() {
		return
	}
	for _, decl := range f.syntax.Decls {
		for _, name := range undocumented(decl) {
			report(f.line(name.Pos()), "exported "+name.Name+": has no comment")
		}
	}
}

// undocumented returns the exported names of one declaration that lack a comment.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Doc == nil && decl.Name.IsExported() && hasExportedReceiver(decl) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, spec := range decl.Specs {
			if decl.Doc == nil {
				names = append(names, undocumentedSpec(spec)...)
			}
		}
		return names
	}
	return nil
}

// undocumentedSpec leaves out specs with a comment of their own, above or behind them.
func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && spec.Comment == nil {
			names = []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil {
			names = spec.Names
		}
	}
	var exported []*ast.Ident
	for _, name := range names {
		if name.IsExported() {
			exported = append(exported, name)
		}
	}
	return exported
}

// hasExportedReceiver reports whether the function can be named from outside:
// it is no method, or one of an exported type.
func hasExportedReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	receiver := decl.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}
