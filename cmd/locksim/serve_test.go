package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"minikv/docs/lessons"
	"minikv/sim"
	"minikv/sim/page"
	"minikv/trace"
)

// get asks the site for a page, after redirects.
func get(t *testing.T, address string) (int, string) {
	response, err := http.Get(address)
	require.NoError(t, err)
	return content(t, response)
}

func content(t *testing.T, response *http.Response) (int, string) {
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}

func TestServedScenarios(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	code, index := get(t, server.URL)
	require.Equal(t, http.StatusOK, code)
	for _, s := range sim.Library() {
		require.Contains(t, index, `"/run/`+s.Name+"?seed=")
	}
	code, text := get(t, server.URL+"/run/pause_outlives_lease")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "<code>locksim run pause_outlives_lease</code>")
}

// TestBranches: the failover grants twice, unless a message gets lost or a client
// sleeps; what was changed is shown as lines, and can be changed further.
func TestBranches(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	for _, c := range []struct{ what, event, steps, line, verdict string }{
		{"drop", "10", "", "at 0s drop m1 c1 next=1 after=1", "holds"},
		{"pause c2", "28", "", "at 2.500000001s pause c2 for=5s", "holds"},
		{"crash r1", "21", "", "at 2.000000001s crash r1", "holds"},
		{"pause c1", "48", "", "at 5.129400001s pause c1 for=5s", "violated"},
		{"drop", "31", "at 100ms pause c1 for=1ms", "at 0s drop c2 r1 next=1 after=0", "holds"},
	} {
		form := url.Values{"scenario": {"failover_before_replication"}, "seed": {"1"}, "what": {c.what}, "event": {c.event}}
		if c.steps != "" {
			form.Set("step", c.steps)
		}
		response, err := http.PostForm(server.URL+"/branch", form)
		require.NoError(t, err)
		code, text := content(t, response)
		require.Equal(t, http.StatusOK, code, c.line)
		require.Contains(t, text, "failover_before_replication, branched")
		require.Contains(t, text, c.line+"\n")
		require.Contains(t, text, "<b>exclusion</b> "+c.verdict, c)
		require.Contains(t, text, c.steps)
	}
}

// TestLessons: each run that a lesson names is there, and has a link.
func TestLessons(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	_, index := get(t, server.URL)
	link := regexp.MustCompile(`<a href="/run/([^"]+)"><code>locksim run`)
	require.Len(t, lessons.Texts(), 4)
	for i, text := range lessons.Texts() {
		require.Contains(t, index, fmt.Sprintf(`<a href="/lesson/%d">%s</a>`, i+1, page.Title(text)))
		_, html := get(t, fmt.Sprintf("%s/lesson/%d", server.URL, i+1))
		named := link.FindAllStringSubmatch(html, -1)
		require.Len(t, named, strings.Count(text, "`locksim run "))
		for _, name := range named {
			_, err := sim.Find(name[1])
			require.NoError(t, err)
		}
		require.Equal(t, strings.Count(html, "<details>"), strings.Count(html, "</details>"))
		require.GreaterOrEqual(t, strings.Count(text, "**Predict**"), 2)
	}
}

// TestLessonsTries: what lessons have their reader change is at the events that they name,
// and what they answer comes of it.
func TestLessonsTries(t *testing.T) {
	all := strings.Join(lessons.Texts(), "")
	for _, c := range []struct {
		scenario   string
		event      int
		kind       trace.Kind
		text, told string // of the event, and in a lesson
		what       string
		verdicts   string
	}{
		{"pause_outlives_lease", 20, trace.Hold, "", "the event at which c2 holds", "pause c2",
			"exclusion violated, fencing holds"},
		{"renewal_survives_an_outage", 44, trace.Deliver, "[1]", "second 6.515", "pause c1",
			"exclusion holds, kept holds"},
		{"renewal_survives_an_outage", 41, trace.Send, "mutex-renew(", "second 6.507", "pause c1",
			"exclusion holds, kept violated"},
		{"failover_before_replication", 10, trace.Send, "nil", "second 0.109", "drop", "exclusion holds"},
		{"redlock_survives_two_lost_masters", 4642, trace.Execute, "", "after second 8", "crash m3",
			"exclusion holds, progress violated"},
	} {
		require.Contains(t, all, c.told)
		b, err := newBranch(c.scenario, nil)
		require.NoError(t, err)
		_, events, err := b.run(t.Context())
		require.NoError(t, err)
		e := events[c.event-1]
		require.Equal(t, c.kind, e.Kind, c)
		require.True(t, strings.HasPrefix(e.Text, c.text), e.Text)
		if second, ok := strings.CutPrefix(c.told, "second "); ok {
			require.Equal(t, second, string(trace.AppendTime(nil, e.At)))
		}
		line, err := b.step(t.Context(), c.what, c.event)
		require.NoError(t, err)
		changed, err := newBranch(c.scenario, url.Values{"step": {line}})
		require.NoError(t, err)
		report, _, err := changed.run(t.Context())
		require.NoError(t, err)
		var verdicts []string
		for _, r := range report.Results {
			verdicts = append(verdicts, r.Check+" "+r.Verdict.String())
		}
		require.Equal(t, c.verdicts, strings.Join(verdicts, ", "), c)
	}
}

func TestServeRefusals(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	for _, path := range []string{"/scenarios", "/run/", "/lesson"} {
		code, text := get(t, server.URL+path)
		require.Equal(t, http.StatusNotFound, code, path)
		require.Contains(t, text, "there is no page "+path)
		require.Contains(t, text, `<a href="/">`)
	}
	for path, want := range map[string]string{
		"/lesson/5":                              "there is no lesson",
		"/run/nope":                              "there is no scenario",
		"/run/contention?seed=x":                 "expected a number",
		"/run/contention?step=world+masters%3D1": "expected a line such as",
		"/run/contention?step=at+0s+pause+c99+for%3D1s":     "unknown client",
		"/run/contention?" + strings.Repeat("step=at&", 21): "expected at most 20",
	} {
		code, text := get(t, server.URL+path)
		require.Equal(t, http.StatusUnprocessableEntity, code, path)
		require.Contains(t, text, want)
	}
	for _, c := range []struct{ what, event, want string }{
		{"drop", "1", "event 1 sends no message"},
		{"drop", "9999", "event 9999: the run has 71"},
		{"explode", "1", "expected drop, pause or crash"},
		{"crash c9\nat 0s heal", "1", "expected a line such as"},
		{"crash c9", "1", "unknown client"},
		{"drop", "", "expected a number"},
	} {
		form := url.Values{"scenario": {"failover_before_replication"}, "what": {c.what}, "event": {c.event}}
		response, err := http.PostForm(server.URL+"/branch", form)
		require.NoError(t, err)
		code, text := content(t, response)
		require.Equal(t, http.StatusUnprocessableEntity, code, c)
		require.Contains(t, text, c.want)
	}
	request, err := http.NewRequest(http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	request.Host = "another.example"
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	code, text := content(t, response)
	require.Equal(t, http.StatusMisdirectedRequest, code)
	require.Contains(t, text, "expected an address")
	for mode, want := range map[string]int{"no-cors": http.StatusForbidden, "navigate": http.StatusOK} {
		request, err = http.NewRequest(http.MethodGet, server.URL+"/lesson/1", nil)
		require.NoError(t, err)
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		request.Header.Set("Sec-Fetch-Mode", mode)
		response, err = http.DefaultClient.Do(request)
		require.NoError(t, err)
		code, _ = content(t, response)
		require.Equal(t, want, code, mode)
	}
	request, err = http.NewRequest(http.MethodPost, server.URL+"/branch", nil)
	require.NoError(t, err)
	request.Header.Set("Origin", "http://another.example")
	response, err = http.DefaultClient.Do(request)
	require.NoError(t, err)
	code, _ = content(t, response)
	require.Equal(t, http.StatusForbidden, code)
}

// TestSlowReaders: who does not read its page keeps nobody else from theirs.
func TestSlowReaders(t *testing.T) {
	site := newSite()
	slow := &slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	request := func(path string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		return r
	}
	go func() {
		defer close(ended)
		site.ServeHTTP(slow, request("/run/pause_outlives_lease"))
	}()
	<-slow.begins
	other := httptest.NewRecorder()
	site.ServeHTTP(other, request("/run/pause_outlives_lease"))
	require.Equal(t, http.StatusOK, other.Code)
	close(slow.reads)
	<-ended
	require.Equal(t, other.Body.String(), slow.Body.String())
}

// TestSlowSenders: who does not send its form to the end keeps nobody else from their pages.
func TestSlowSenders(t *testing.T) {
	site := newSite()
	body, sender := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := httptest.NewRequest(http.MethodPost, "/branch", body)
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		site.ServeHTTP(httptest.NewRecorder(), r)
	}()
	_, err := io.WriteString(sender, "scenario=")
	require.NoError(t, err) // it is being read
	other := make(chan int)
	go func() {
		r := httptest.NewRequest(http.MethodGet, "/run/pause_outlives_lease", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		other <- w.Code
	}()
	select {
	case code := <-other:
		require.Equal(t, http.StatusOK, code)
	case <-time.After(time.Minute):
		require.Fail(t, "the other page waits for the form")
	}
	require.NoError(t, sender.Close())
	<-ended
}

// slowReader takes what is written to it when reads is closed.
type slowReader struct {
	*httptest.ResponseRecorder
	begins, reads chan struct{}
}

func (s *slowReader) Write(p []byte) (int, error) {
	close(s.begins)
	<-s.reads
	return s.ResponseRecorder.Write(p)
}

// The name of a cell has slashes, which who types its address does not escape.
func TestServedCellByItsName(t *testing.T) {
	server := httptest.NewServer(newSite())
	defer server.Close()
	for _, page := range []string{"/run/", "/explain/"} {
		want, escaped := get(t, server.URL+page+"matrix:12%2Fredisson%2Fmutex?seed=1")
		code, plain := get(t, server.URL+page+"matrix:12/redisson/mutex?seed=1")
		require.NotEqual(t, http.StatusNotFound, code)
		require.Equal(t, want, code)
		require.Equal(t, escaped, plain)
	}
}
