package tidy

import (
	"path"
	"slices"
	"strings"
)

// modulePath is the name that go.mod gives to this module.
const modulePath = "minikv"

// anything in a floor's list allows every other floor.
const anything = "*"

// floors says which folders of this module each folder may import besides
// itself. A folder that is not here belongs to the one above it.
var floors = map[string][]string{
	"internal/certificates": {},
	"internal/memory":       {},
	"internal/precise":      {},
	"internal/redisserver":  {},
	"internal/resp":         {},
	"internal/slot":         {},
	"internal/tidy":         {},
	"trace":                 {},

	"datastore": onGround(),
	"luaengine": onGround(),

	"lockclient":                  {"internal/slot"},
	"lockclient/goredis":          {"lockclient", "lockclient/internal/adapter"},
	"lockclient/internal/adapter": {"lockclient"},
	"lockclient/locktest":         {"lockclient"},
	"lockclient/rueidis":          {"lockclient", "lockclient/internal/adapter"},
	"lockclient/slogobserver":     {"lockclient"},
	"lockclient/synclocker":       {"lockclient"},

	"server":        onGround("server/engine", "internal/memory"),
	"server/engine": onGround("datastore", "luaengine"),

	"cluster":    onGround("server/engine", "datastore"),
	"topology":   onGround("server", "cluster", "server/engine", "luaengine", "datastore"),
	"minikvtest": onGround("topology", "server", "cluster", "server/engine", "internal/certificates"),
	"sim":        onGround("lockclient", "cluster", "server/engine", "datastore", "luaengine", "internal/memory"),

	"cmd": {anything},
}

// onGround adds the packages that every floor above may import.
func onGround(others ...string) []string {
	return append(others, "internal/precise", "internal/resp", "internal/slot", "trace")
}

// libraries says where each library may be imported; tests may import all.
var libraries = map[string][]string{
	"github.com/KimMachineGun/automemlimit": {"internal/memory"},
	"github.com/anishathalye/porcupine":     {"sim/check"},
	"github.com/chromedp/cdproto":           {"cmd/locksim/browser"},
	"github.com/chromedp/chromedp":          {"cmd/locksim/browser"},
	"github.com/howeyc/crc16":               {"internal/slot"},
	"github.com/redis/go-redis/v9":          {"lockclient/goredis", "cmd"},
	"github.com/redis/rueidis":              {"lockclient/rueidis", "cmd"},
	"github.com/schollz/progressbar/v3":     {"cmd"},
	"github.com/spf13/cobra":                {"cmd"},
	"github.com/spf13/pflag":                {"cmd"},
	"github.com/stretchr/testify":           {"lockclient/locktest", "sim/simtest", "minikvtest"},
	"github.com/tidwall/redcon":             {"internal/resp"},
	"github.com/vmihailenco/msgpack/v5":     {"luaengine"},
	"github.com/yuin/gopher-lua":            {"luaengine"},
	"golang.org/x/term":                     {"cmd"},
	"golang.org/x/tools":                    {"internal/tidy"},
}

// modulesApart have their own go.mod and import what they compare with.
var modulesApart = []string{"bench", "interop"}

// checkImports sees that imports point down and that libraries stay at home.
func checkImports(f *file, report reporter) {
	if f.isTest() || f.in(modulesApart...) {
		return
	}
	for _, spec := range f.syntax.Imports {
		name := importPath(spec)
		why := ""
		if within(name, modulePath) {
			why = upward(f.folder(), strings.TrimPrefix(name, modulePath+"/"))
		} else if !isStandard(name) {
			why = astray(f, name)
		}
		if why != "" {
			report(f.line(spec.Pos()), "import "+name+": "+why)
		}
	}
}

// upward says why folder from may not import folder to, or "".
func upward(from, to string) string {
	source, target := floorOf(from), floorOf(to)
	allowed, known := floors[source]
	switch {
	case !known:
		return "give " + from + " a floor in internal/tidy/imports.go"
	case source == target, slices.Contains(allowed, target), slices.Contains(allowed, anything):
		return ""
	}
	return source + " may not import " + target
}

// floorOf returns the longest folder of floors that holds name, or ".".
func floorOf(name string) string {
	for name != "." && floors[name] == nil {
		name = path.Dir(name)
	}
	return name
}

// astray says why the file may not import the library, or "".
func astray(f *file, name string) string {
	for library, homes := range libraries {
		if !within(name, library) {
			continue
		}
		if f.in(homes...) {
			return ""
		}
		return "only " + strings.Join(homes, ", ") + " may import this library"
	}
	return "give this library a home in internal/tidy/imports.go"
}

func isStandard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}
