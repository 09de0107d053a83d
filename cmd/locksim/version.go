package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// addVersion gives root --version.
func addVersion(root *cobra.Command) {
	cobra.AddTemplateFunc("locksimVersion", version)
	root.Version = "see version" // cobra has the flag only where there is one
	root.SetVersionTemplate("{{locksimVersion}}\n")
}

// version says which locksim this is: its build, which files of hunts and stores name as
// well, the compiler, and the commit where the compiler knew of it.
func version() string {
	text := "locksim build " + buildName()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text
	}
	text += ", " + info.GoVersion
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += ", commit " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			text += " with changes"
		}
	}
	return text
}
