package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// config is what a configuration file and the command line say.
type config struct {
	file   string            // absolute path, or ""
	values map[string]string // of directives that CONFIG GET knows, by name
	saves  bool              // a save line was read: its defaults are gone
	own    []order           // of minikv's own directives, as they came
	users  [][]string        // of user lines, each a name and its rules
	nested int               // how many files include each other while they are read
	tlsDir string            // of --tls, absolute; "": it was not given
}

// configError is a line that redis-server would refuse as well.
type configError struct {
	line   int
	text   string
	reason string
}

func (e *configError) Error() string { return fmt.Sprintf("line %d: %q: %s", e.line, e.text, e.reason) }

// report is what redis-server prints, and a guess at what was meant.
func (e *configError) report() string {
	report := fmt.Sprintf("\n*** FATAL CONFIG FILE ERROR (Redis %s) ***\nReading the configuration file, at line %d\n"+
		">>> '%s'\n%s\n", engine.Version, e.line, e.text, e.reason)
	name, _, _ := strings.Cut(e.text, " ")
	if e.reason == reasonUnknown {
		if meant := guess(name); meant != "" {
			report += "Did you mean '" + meant + "'?\n"
		}
	}
	return report
}

const reasonUnknown = "Bad directive or wrong number of arguments"

// parseArguments reads redis-server's command line: a file, options that are
// configuration lines with "--" in front, and "-" for lines on stdin.
// Source: main of Redis 7.0, by its behaviour.
func parseArguments(args []string, stdin io.Reader) (*config, error) {
	conf := &config{values: map[string]string{}}
	var text []byte
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		content, path, err := readFile(args[0])
		if err != nil {
			return nil, err
		}
		conf.file = path
		text = content
		args = args[1:]
	}
	if n := len(args); n > 0 && args[n-1] == "-" {
		content, err := readAtMost(stdin)
		if err != nil {
			return nil, fmt.Errorf("read configuration from standard input: %w", err)
		}
		text = append(text, content...)
		args = args[:n-1]
	}
	if len(args) > 0 {
		text = append(append(text, '\n'), optionLines(args)...)
	}
	return conf, conf.load(text)
}

// optionLines makes configuration lines of "--name value …".
func optionLines(args []string) string {
	var lines strings.Builder
	afterName := false
	for i, arg := range args {
		if afterName || !strings.HasPrefix(arg, "--") {
			lines.WriteString(" " + resp.Quote(arg))
			afterName = false
			continue
		}
		if i > 0 {
			lines.WriteByte('\n')
		}
		lines.WriteString(arg[2:])
		last := i+1 == len(args) || strings.HasPrefix(args[i+1], "--")
		own := findDirective(strings.ToLower(arg[2:]))
		switch {
		case last && strings.EqualFold(arg, "--save"):
			lines.WriteString(` ""`)
		case last && own != nil && own.alone:
		default:
			// The next word is a value even if it begins with "--".
			afterName = !strings.Contains(strings.TrimRight(arg, " "), " ")
		}
	}
	return lines.String()
}

func readFile(name string) (content []byte, path string, err error) {
	path, err = filepath.Abs(name)
	if err != nil {
		return nil, "", err
	}
	content, err = readText(path)
	if err != nil {
		return nil, "", fmt.Errorf("Fatal error, can't open config file '%s': %w", path, unwrapPath(err))
	}
	return content, path, nil
}

// unwrapPath takes the operation and the name out of an error that will be told with both.
func unwrapPath(err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// load reads configuration lines.
func (conf *config) load(text []byte) error {
	for i, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		words, ok := resp.SplitArgs(line)
		if !ok {
			return &configError{i + 1, string(line), "Unbalanced quotes in configuration line"}
		}
		if len(words) == 0 { // blanks of other kinds
			continue
		}
		name := strings.ToLower(string(words[0]))
		values := make([]string, 0, len(words)-1)
		for _, word := range words[1:] {
			values = append(values, string(word))
		}
		if name == "include" && len(values) == 1 {
			if err := conf.include(values[0]); err != nil {
				return err
			}
			continue
		}
		if reason := conf.set(name, values); reason != "" {
			return &configError{i + 1, string(line), reason}
		}
	}
	return nil
}

// include reads a file, or those that a pattern matches, which may be none.
func (conf *config) include(name string) error {
	const most = 16 // redis-server ends when it is out of file descriptors
	if conf.nested == most {
		return fmt.Errorf("include %s: files include each other more than %d deep", name, most)
	}
	conf.nested++
	defer func() { conf.nested-- }()
	names := []string{name}
	if strings.ContainsAny(name, "*?[") {
		var err error
		if names, err = filepath.Glob(name); err != nil {
			return fmt.Errorf("include %s: %w", name, err)
		}
	}
	for _, name := range names {
		content, _, err := readFile(name)
		if err != nil {
			return err
		}
		if err := conf.load(content); err != nil {
			return err
		}
	}
	return nil
}

// set takes over one directive; reason is why not, in Redis's words.
func (conf *config) set(name string, values []string) (reason string) {
	switch name {
	case "rename-command", "loadmodule":
		conf.values[name] = strings.Join(values, " ")
		return ""
	case "user":
		return conf.addUser(values)
	case "save":
		return conf.setSave(values)
	case "client-output-buffer-limit":
		return conf.setOutputLimit(values)
	}
	if d := findDirective(name); d != nil {
		return conf.setOwn(d, values)
	}
	value := strings.Join(values, " ")
	reason = validate(name, value)
	if reason != reasonUnknown && len(values) != 1 && !takesSeveral(name) {
		return "wrong number of arguments"
	}
	if reason == "" {
		conf.values[engine.ParameterName(name)] = value
	}
	return reason
}

func validate(name, value string) (reason string) {
	if err := engine.ValidateParameter(name, value); err != nil {
		return err.Error()
	}
	return ""
}

func takesSeveral(name string) bool {
	switch name {
	case "bind", "oom-score-adj-values", "latency-tracking-info-percentiles", "replicaof", "slaveof",
		"shutdown-on-sigint", "shutdown-on-sigterm":
		return true
	}
	return false
}

// setSave adds a save line to those before it; an empty one takes all away.
func (conf *config) setSave(values []string) (reason string) {
	if len(values) == 1 {
		values = strings.Fields(values[0])
	}
	if len(values)%2 != 0 {
		return "Invalid save parameters"
	}
	for i, value := range values {
		least := int64(1 - i%2)
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < least {
			return "Invalid save parameters"
		}
	}
	before := conf.values["save"]
	if !conf.saves || len(values) == 0 {
		before = ""
	}
	conf.saves = true
	conf.values["save"] = strings.TrimSpace(before + " " + strings.Join(values, " "))
	return ""
}

// setOutputLimit changes one class, or several, of a parameter whose other
// classes stay as they are.
func (conf *config) setOutputLimit(values []string) (reason string) {
	const name = "client-output-buffer-limit"
	if len(values) == 1 {
		values = strings.Fields(values[0])
	}
	if len(values) == 0 {
		return "Wrong number of arguments in buffer limit configuration."
	}
	now, ok := conf.values[name]
	if !ok {
		now = engine.DefaultParameter(name)
	}
	text, reason := engine.MergeOutputLimits(now, values)
	if reason == "" {
		conf.values[name] = text
	}
	return reason
}

// get is a parameter's value, given or default.
func (conf *config) get(name string) string {
	if value, ok := conf.values[name]; ok {
		return value
	}
	return engine.DefaultParameter(name)
}

func (conf *config) daemonize() bool { return strings.EqualFold(conf.get("daemonize"), "yes") }

// checkSupported refuses directives that would change answers in ways that
// minikv does not know; accepting them would be a lie.
func (conf *config) checkSupported() error {
	for _, name := range []string{"cluster-enabled", "replicaof", "slaveof", "rename-command", "loadmodule"} {
		switch value := conf.get(name); value {
		case "", "no", "0", "no one":
		default:
			return fmt.Errorf("%s %s: not supported%s", name, value, insteadOf[name])
		}
	}
	return nil
}

// insteadOf says how minikv does what a directive does that it has not.
var insteadOf = map[string]string{
	"cluster-enabled": ": use --cluster MxR, which starts all nodes of a cluster",
	"replicaof":       ": use --replicas N, which starts a master with its replicas",
	"slaveof":         ": use --replicas N, which starts a master with its replicas",
}
