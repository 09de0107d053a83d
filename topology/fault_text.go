package topology

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads a rule from words, in any case and order, each at most once:
//
//	ON command  KEY glob  CLIENT name|number  NODE name  NTH n  TIMES n  PERCENT p
//	DELAY duration|milliseconds  ERROR text  DROPREQUEST  DROPREPLY  DUPLICATE  CLOSE
//
// The text of ERROR is one word here; whoever splits a line into words keeps it together.
func ParseFault(words []string) (Fault, error) {
	var f Fault
	said := map[string]bool{}
	for i := 0; i < len(words); i++ {
		word := strings.ToUpper(words[i])
		if said[word] {
			return Fault{}, fmt.Errorf("topology: fault: %s is given twice: expected a rule for each", word)
		}
		said[word] = true
		if switched := f.flag(word); switched != nil {
			*switched = true
			continue
		}
		if i++; i == len(words) {
			return Fault{}, fmt.Errorf("topology: fault: %s: unknown word, or its value is missing", word)
		}
		if err := f.set(word, words[i]); err != nil {
			return Fault{}, err
		}
	}
	return f, f.Check()
}

// flag is the word's field if it needs no value.
func (f *Fault) flag(word string) *bool {
	switch word {
	case "DROPREQUEST":
		return &f.DropRequest
	case "DROPREPLY":
		return &f.DropReply
	case "DUPLICATE":
		return &f.Duplicate
	case "CLOSE":
		return &f.Close
	}
	return nil
}

func (f *Fault) set(word, value string) (err error) {
	switch word {
	case "ON":
		f.Command = value
	case "KEY":
		f.Key = value
	case "CLIENT":
		f.Client = value
	case "NODE":
		f.Node = value
	case "NTH":
		f.Nth, err = parseCount(word, value)
	case "TIMES":
		f.Times, err = parseCount(word, value)
	case "PERCENT":
		f.Percent, err = parseCount(word, value)
	case "DELAY":
		f.Delay, err = ParseDuration(value)
	case "ERROR":
		f.Error = value
	default:
		err = fmt.Errorf("topology: fault: unknown word %q", word)
	}
	return err
}

func parseCount(word, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("topology: fault: %s %q: expected a number from 1", word, value)
	}
	return n, nil
}

// ParseDuration reads a duration as Go writes it, such as 1m30s, or a bare number of
// milliseconds.
func ParseDuration(text string) (time.Duration, error) {
	if millis, err := strconv.ParseInt(text, 10, 64); err == nil {
		const most = int64(1<<63-1) / int64(time.Millisecond)
		if millis > most || millis < -most {
			return 0, fmt.Errorf("topology: duration %q: too long", text)
		}
		return time.Duration(millis) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("topology: duration %q: expected milliseconds or, for example, 1m30s", text)
	}
	return d, nil
}

// String returns the rule in the words of ParseFault, with the text of ERROR in quotes.
func (f Fault) String() string {
	var words []string
	add := func(word, value string) {
		if value != "" && value != "0" {
			words = append(words, word, value)
		}
	}
	add("ON", f.Command)
	add("KEY", f.Key)
	add("CLIENT", f.Client)
	add("NODE", f.Node)
	add("NTH", strconv.Itoa(f.Nth))
	add("TIMES", strconv.Itoa(f.Times))
	add("PERCENT", strconv.Itoa(f.Percent))
	return strings.Join(append(words, f.effects()), " ")
}

// effects is what the rule does.
func (f Fault) effects() string {
	var words []string
	if f.Delay > 0 {
		words = append(words, "DELAY "+f.Delay.String())
	}
	if f.Error != "" {
		words = append(words, "ERROR "+strconv.Quote(f.Error))
	}
	if f.DropRequest {
		words = append(words, "DROPREQUEST")
	}
	if f.DropReply {
		words = append(words, "DROPREPLY")
	}
	if f.Duplicate {
		words = append(words, "DUPLICATE")
	}
	if f.Close {
		words = append(words, "CLOSE")
	}
	return strings.Join(words, " ")
}
