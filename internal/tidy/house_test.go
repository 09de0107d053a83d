package tidy

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

const moduleRoot = "../.."

func TestHouse(t *testing.T) {
	t.Parallel()
	found, err := Check(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("%d violations\n%s", len(found), lines(found))
	}
}

// go test runs only some of vet's checks.
func TestVet(t *testing.T) {
	t.Parallel()
	vet := exec.Command("go", "vet", "./...")
	vet.Dir = moduleRoot
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", vet, err, out)
	}
}

func lines(found []Violation) string {
	var text strings.Builder
	for _, v := range found {
		fmt.Fprintln(&text, v)
	}
	return text.String()
}
