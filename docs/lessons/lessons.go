package lessons

import "embed"

//go:embed *.md
var files embed.FS

// Texts are the lessons in their order.
func Texts() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the folder is missing from this package
	}
	var list []string
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		list = append(list, string(text))
	}
	return list
}
