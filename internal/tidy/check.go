package tidy

import (
	"cmp"
	"fmt"
	"slices"
)

// Violation is one place that breaks a rule.
type Violation struct {
	File string // from the module's root, with slashes
	Line int    // from 1
	What string // what is wrong and what to do: "time.Now: use Clock"
}

// String returns the violation as compilers print theirs: file:line: what.
func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.What)
}

// Check returns all violations in the module at root, sorted by file and line.
// What does not compile is a violation too. The error says that the module
// could not be read at all.
func Check(root string) ([]Violation, error) {
	files, found, err := load(root)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		found = unbuilt(files)
	}
	found = append(found, undocumentedPackages(files)...)
	for _, f := range files {
		found = append(found, checkFile(f)...)
	}
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(found), nil
}

// reporter notes one violation in the file under check.
type reporter func(line int, what string)

// The rules by what they need: any text, a parsed Go file, a type-checked one.
var (
	textRules   = []func(*file, reporter){checkPaths, checkProse}
	syntaxRules = []func(*file, reporter){checkFormat, checkSizes, checkComments, checkDocs,
		checkImports, checkPureImports, checkSurface}
	typeRules = []func(*file, reporter){checkPurity}
)

func checkFile(f *file) []Violation {
	rules := textRules
	if f.syntax != nil {
		rules = slices.Concat(rules, syntaxRules)
	}
	if f.info != nil {
		rules = slices.Concat(rules, typeRules)
	}
	var found []Violation
	report := func(line int, what string) {
		found = append(found, Violation{File: f.path, Line: line, What: what})
	}
	for _, rule := range rules {
		rule(f, report)
	}
	return found
}
