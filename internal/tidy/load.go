package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// file is one text file of the module.
type file struct {
	path   string // from the module's root, with slashes
	source []byte
	fset   *token.FileSet
	syntax *ast.File   // nil unless it is Go
	info   *types.Info // nil for tests and for what is not built on this machine
}

// built is what the go command knows about the files it builds, by full name.
type built struct {
	fset   *token.FileSet
	syntax map[string]*ast.File
	info   map[string]*types.Info
	broken []Violation
}

// load reads all text files under root. Files that do not compile are loaded
// as far as possible and come with a violation each.
func load(root string) ([]*file, []Violation, error) {
	root, err := realPath(root)
	if err != nil {
		return nil, nil, err
	}
	known, err := loadTypes(root)
	if err != nil {
		return nil, nil, err
	}
	var files []*file
	err = filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || full == root {
			return err
		}
		if entry.IsDir() {
			return skipForeign(full, entry)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		f, err := readFile(root, full, known)
		if f != nil {
			files = append(files, f)
		}
		return err
	})
	return files, known.broken, err
}

func realPath(root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(root)
}

// loadTypes type-checks the module's packages from source. What they import
// from elsewhere comes from the compiler's export data, which go test has in
// its cache anyway.
func loadTypes(root string) (built, error) {
	known := built{token.NewFileSet(), map[string]*ast.File{}, map[string]*types.Info{}, nil}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:  root,
		Fset: known.fset,
	}, "./...")
	for _, p := range loaded {
		for _, syntax := range p.Syntax {
			name := known.fset.Position(syntax.FileStart).Filename
			known.syntax[name] = syntax
			known.info[name] = p.TypesInfo
		}
		for _, e := range p.Errors {
			if strings.HasPrefix(e.Msg, "# ") {
				continue // the compiler's own list of the type errors that follow
			}
			known.broken = append(known.broken, brokenPlace(root, p.PkgPath, e))
		}
	}
	return known, err
}

// skipForeign keeps the walk out of hidden folders (but .ci is ours), of what
// other languages' tools build, and of this package's own testdata, which breaks
// every rule on purpose.
func skipForeign(full string, entry fs.DirEntry) error {
	name := entry.Name()
	full = filepath.ToSlash(full)
	hidden := strings.HasPrefix(name, ".") && name != ".ci"
	output := (name == "target" || name == "node_modules") && strings.Contains(full, "/interop/")
	if hidden || output || strings.HasSuffix(full, "internal/tidy/testdata") {
		return filepath.SkipDir
	}
	return nil
}

// readFile returns nil for a file that is not text.
func readFile(root, full string, known built) (*file, error) {
	source, err := os.ReadFile(full)
	if err != nil || bytes.IndexByte(source, 0) >= 0 {
		return nil, err
	}
	short, err := filepath.Rel(root, full)
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.ToSlash(short), source: source, fset: known.fset}
	if path.Ext(f.path) != ".go" {
		return f, nil
	}
	f.syntax, f.info = known.syntax[full], known.info[full]
	if f.syntax == nil {
		// checkFormat reports what does not parse; the rest of the file is still checked.
		f.syntax, _ = parser.ParseFile(f.fset, full, source, parser.ParseComments|parser.SkipObjectResolution)
	}
	return f, nil
}

// brokenPlace says where e is: in a file, or in the package as a whole.
func brokenPlace(root, packagePath string, e packages.Error) Violation {
	v := Violation{File: packagePath, What: "does not compile: " + e.Msg}
	if place := strings.Split(e.Pos, ":"); len(place) > 1 {
		v.File = strings.TrimPrefix(place[0], root+"/")
		v.Line, _ = strconv.Atoi(place[1]) // always a number
	}
	return v
}

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// folder is the file's directory, "." for the module's root.
func (f *file) folder() string { return path.Dir(f.path) }

// in reports whether the file is one of these, or under one of these folders.
func (f *file) in(places ...string) bool {
	return slices.ContainsFunc(places, func(place string) bool { return within(f.path, place) })
}

func (f *file) line(at token.Pos) int { return f.fset.Position(at).Line }

// within reports whether name is place or something below it.
func within(name, place string) bool {
	return name == place || strings.HasPrefix(name, place+"/")
}
