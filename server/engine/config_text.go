package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"minikv/internal/resp"
)

// Parameters whose values have a form of their own.
// Source: config.c of Redis 7.0.

// checkText is the canonical value of such a parameter, or what is wrong with it.
func (p *parameter) checkText(value string) (text, bad string) {
	switch p.name {
	case "notify-keyspace-events":
		classes, ok := parseEvents(value)
		if !ok {
			return "", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
		}
		return classes.String(), ""
	case "save":
		return canonicalSave(value)
	case outputLimits:
		return MergeOutputLimits(p.def, separated(value))
	case "latency-tracking-info-percentiles":
		return canonicalPercentiles(value)
	case "oom-score-adj-values":
		return canonicalScores(value)
	case "shutdown-on-sigint", "shutdown-on-sigterm":
		return canonicalShutdown(value)
	case "cluster-announce-hostname":
		return value, checkHostname(value)
	case "proc-title-template":
		if !isTitleTemplate(value) {
			return "", "template format is invalid or contains unknown variables"
		}
	case "dbfilename":
		if strings.Contains(value, "/") {
			return "", "dbfilename can't be a path, just a filename"
		}
	}
	return value, ""
}

// isTitleTemplate reports whether a template makes a process title: its variables, such as
// {port}, are known, and there is more than those that are empty. {{ is a brace.
// Source: sdstemplate and validateProcTitleTemplate of Redis 7.0.
func isTitleTemplate(template string) bool {
	var title strings.Builder
	for {
		text, rest, more := strings.Cut(template, "{")
		title.WriteString(text)
		if !more {
			return strings.Trim(title.String(), " ") != ""
		}
		if after, ok := strings.CutPrefix(rest, "{"); ok {
			title.WriteByte('{')
			template = after
			continue
		}
		name, after, ended := strings.Cut(rest, "}")
		switch {
		case !ended:
			return false
		case name == "listen-addr", name == "port", name == "tls-port":
			title.WriteString(name) // in place of its value, which is not empty
		case name != "title" && name != "server-mode" && name != "unixsocket" && name != "config-file":
			return false
		}
		template = after
	}
}

// separated splits a value of several words, which one blank each stands between.
func separated(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, " ")
}

// checkHostname is what is wrong with a host's name.
func checkHostname(value string) (bad string) {
	const longest = 255
	if len(value) > longest {
		return "Hostnames must be less than 256 characters"
	}
	for _, b := range []byte(value) {
		if b != '-' && b != '.' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
			return "Hostnames may only contain alphanumeric characters, hyphens or dots"
		}
	}
	return ""
}

const outputLimits = "client-output-buffer-limit"

// MergeOutputLimits returns the value of client-output-buffer-limit after setting one
// class or several, four words for each; other classes keep what now has. bad is the
// error text.
func MergeOutputLimits(now string, words []string) (text, bad string) {
	if len(words)%4 != 0 {
		return "", "Wrong number of arguments in buffer limit configuration."
	}
	limits := strings.Fields(now)
	for ; len(words) > 0; words = words[4:] {
		class := strings.Replace(lowerASCII(words[0]), "replica", "slave", 1)
		at := 0
		for at < len(limits) && limits[at] != class {
			at += 4
		}
		if at >= len(limits) {
			return "", "Invalid client class specified in buffer limit configuration."
		}
		hard, ok1 := ParseMemory(words[1])
		soft, ok2 := ParseMemory(words[2])
		seconds, err := strconv.ParseInt(resp.CString(words[3]), 10, 64)
		if !ok1 || !ok2 || err != nil || seconds < 0 {
			return "", "Error in hard, soft or soft_seconds setting in buffer limit configuration."
		}
		limits[at+1], limits[at+2] = strconv.FormatUint(hard, 10), strconv.FormatUint(soft, 10)
		limits[at+3] = strconv.FormatInt(seconds, 10)
	}
	return strings.Join(limits, " "), ""
}

// canonicalSave checks pairs of seconds and changes. As in Redis nothing is 0, what is out
// of range the greatest number, and of changes only the lower 32 bits are kept.
func canonicalSave(value string) (text, bad string) {
	words := separated(value)
	ok := len(words)%2 == 0
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		atLeast := int64(1 - i%2) // a second, no change
		ok = ok && (err == nil || word == "" || errors.Is(err, strconv.ErrRange)) && n >= atLeast
		if i%2 == 1 {
			n = int64(int32(n))
		}
		words[i] = decimal(n)
	}
	if !ok {
		return "", "Invalid save parameters"
	}
	return strings.Join(words, " "), ""
}

// canonicalPercentiles checks numbers from 0 to 100, which are shown with up to
// six decimals.
func canonicalPercentiles(value string) (text, bad string) {
	words := separated(value)
	for i, word := range words {
		percentile, ok := parseFloat([]byte(word))
		switch {
		case !ok:
			return "", "Invalid latency-tracking-info-percentiles parameters"
		case percentile < 0 || percentile > 100:
			return "", "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
		}
		words[i] = shortDecimals(percentile)
	}
	return strings.Join(words, " "), ""
}

// shortDecimals is f with up to six decimals.
func shortDecimals(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 6, 64), "0"), ".")
}

// canonicalScores checks the three scores of oom-score-adj-values.
func canonicalScores(value string) (text, bad string) {
	const scores, limit = 3, 2000
	words := separated(value)
	if len(words) != scores {
		return "", "wrong number of arguments"
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < -limit || n > limit {
			return "", "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
		}
		words[i] = decimal(n)
	}
	return strings.Join(words, " "), ""
}

// canonicalShutdown checks the options with which a signal shuts the server down.
func canonicalShutdown(value string) (text, bad string) {
	options := []string{"save", "nosave", "now", "force"}
	set := map[string]bool{}
	for _, word := range separated(value) {
		set[lowerASCII(word)] = true
	}
	known := len(set)
	if set["default"] {
		known--
	}
	var shown []string
	for _, option := range options {
		if set[option] {
			shown = append(shown, option)
		}
	}
	switch {
	case len(set) == 0 || len(shown) != known:
		return "", fmt.Sprintf("argument(s) must be one of the following: default, %s", strings.Join(options, ", "))
	case set["save"] && set["nosave"]:
		return "", "shutdown options SAVE and NOSAVE can't be used simultaneously"
	case len(shown) == 0:
		return "default", ""
	}
	return strings.Join(shown, " "), ""
}
