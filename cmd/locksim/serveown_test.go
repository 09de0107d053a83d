package main

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"minikv/sim"
)

// ownRun is the address of a run of a file.
func ownRun(file string) string { return "/run/own?" + url.Values{"file": {file}}.Encode() }

// TestOwnScenario: a file that somebody gives runs, can be branched, and is refused
// with its line if there is something wrong with it.
func TestOwnScenario(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	s, err := sim.Find("failover_before_replication")
	require.NoError(t, err)
	file := strings.ReplaceAll(s.Text(), "\n", "\r\n") // as a browser sends it
	code, text := get(t, server.URL+ownRun(file))
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, "<b>exclusion</b> violated")
	require.NotContains(t, text, "<p>Replay:")
	form := url.Values{"scenario": {"own"}, "seed": {"1"}, "what": {"drop"}, "event": {"10"}, "file": {file}}
	response, err := http.PostForm(server.URL+"/branch", form)
	require.NoError(t, err)
	code, text = content(t, response)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "own, branched")
	require.Contains(t, text, "<b>exclusion</b> holds")

	for bad, want := range map[string]string{
		"": `own.scenario:1: there is no "world" line`,
		"world clients=2\nat 1s pause c9 for=1s\nrun for=5s seed=1":        "own.scenario:2: unknown client",
		"world clients=1 lock=own\nrun for=1s":                             "lock=own",
		"world clients=100 hold=1ms think=0s rounds=0\nrun for=10m seed=1": "more than 300000 events",
	} {
		code, text := get(t, server.URL+ownRun(bad))
		require.Equal(t, http.StatusUnprocessableEntity, code, bad)
		require.Contains(t, html.UnescapeString(text), want, bad)
		require.Contains(t, html.UnescapeString(text), "spellcheck=\"false\">\n"+bad+"</textarea>", "to be corrected")
	}
	_, text = get(t, server.URL+"/run/nothing?file=x")
	require.NotContains(t, text, "<textarea")
}

// TestServedExplanation: what did not come true, what was tried, and runs of it.
func TestServedExplanation(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	_, text := get(t, server.URL+"/run/failover_before_replication")
	link := regexp.MustCompile(`<a href="(/explain/[^"]+)">What would have saved it`).FindStringSubmatch(text)
	require.NotNil(t, link)
	code, text := get(t, server.URL+html.UnescapeString(link[1]))
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, "replicas have every acknowledged write")
	tried := regexp.MustCompile(`(?s)<li class="(holds|violated)">.*?<b>([^<]+)</b>:\n([^.]+)[.] <a href="([^"]+)"`).
		FindAllStringSubmatch(text, -1)
	require.Len(t, tried, 5)
	for _, one := range tried {
		code, text := get(t, server.URL+html.UnescapeString(one[4]))
		require.Equal(t, http.StatusOK, code, text)
		require.Contains(t, text, "<b>exclusion</b> "+one[1], one[2])
		require.Equal(t, one[1] == "holds", strings.Contains(one[3], "is not violated"))
	}
	require.Equal(t, "acquisitions checked with WAIT (sync=on)", tried[0][2])
	require.Equal(t, "holds", tried[0][1])
	for _, path := range []string{"/explain/contention", "/explain/nothing", "/explain/own"} {
		code, _ := get(t, server.URL+path)
		require.Equal(t, http.StatusUnprocessableEntity, code, path)
	}
	_, text = get(t, server.URL+"/run/contention")
	require.NotContains(t, text, "What would have saved it")
	pause, err := sim.Find("pause_outlives_lease")
	require.NoError(t, err)
	_, text = get(t, server.URL+strings.Replace(ownRun(pause.Text()), "/run/", "/explain/", 1))
	require.Contains(t, text, ">The run</a>", "it has no name")
}

// A page says what the command line says, of each story that breaks a promise; and of
// which scenario.
func TestExplanationsAreTheSameServed(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	space := regexp.MustCompile(`\s+`)
	for _, name := range []string{"pause_outlives_lease", "restart_without_data_breaks_redlock",
		"lost_latch_opens_early"} {
		code, told, errs := locksim("explain", name)
		require.Equal(t, exitExpected, code, errs)
		_, text := get(t, server.URL+"/explain/"+name)
		require.Contains(t, text, ">"+name+"</a>")
		plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, ""))
		plain = space.ReplaceAllString(plain, " ")
		for line := range strings.Lines(strings.NewReplacer(
			"Assumptions that did not hold: ", "", "; ", "\n").Replace(told)) {
			line = strings.TrimRight(strings.TrimSpace(space.ReplaceAllString(line, " ")), ".")
			if line != "The same story, run again with" {
				require.Contains(t, plain, line, name)
			}
		}
	}
}
