package sim

import (
	"embed"
	"strings"

	"minikv/lockclient"
)

// Redisson's scripts where lockclient's reply or leave something else, written from
// its protocol after release 4.7.0. TestScripts of interop/java holds them, and those
// that the two have in common, to Redisson's own.
//
//go:embed redisson/*.lua
var redissonFiles embed.FS

// redissonScript is the script of redisson/FILE.lua: "mutex_renew" has the name mutex-renew.
func redissonScript(file string) *lockclient.Script {
	text, err := redissonFiles.ReadFile("redisson/" + file + ".lua")
	if err != nil {
		panic(err) // a file is missing from this package
	}
	return lockclient.NewScript(strings.ReplaceAll(file, "_", "-"), string(text))
}

// allScripts are all that clients of locks run, of either profile.
func allScripts() (list []*lockclient.Script) {
	for _, file := range lockclient.ShippedNames() {
		list = append(list, lockclient.Shipped(file))
	}
	own, err := redissonFiles.ReadDir("redisson")
	if err != nil {
		panic(err) // the folder is missing from this package
	}
	for _, file := range own {
		list = append(list, redissonScript(strings.TrimSuffix(file.Name(), ".lua")))
	}
	return list
}
