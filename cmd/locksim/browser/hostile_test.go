package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestHostileTrace: what keys, values, scripts and names say is shown, and not
// executed; the page works from disk.
func TestHostileTrace(t *testing.T) {
	evil := `<img src=x onerror=alert(1)></script><script>alert(2)</script>\u0000\u001b[31m\u202e` + "\xff\xfe"
	dir := t.TempDir()
	events, html := filepath.Join(dir, "evil.jsonl"), filepath.Join(dir, "evil.html")
	require.NoError(t, os.WriteFile(events, []byte(`{"n":1,"t":1,"actor":"c1","kind":"acquire","lock":1,"key":"`+evil+`"}
{"n":2,"t":2,"actor":"m1","kind":"execute","peer":"c1","cause":1,"text":"`+evil+`",`+
		`"details":[{"what":"call","text":"`+evil+`","reply":"`+evil+`"},`+
		`{"what":"changed","key":"`+evil+`","text":"`+evil+`"}]}
{"n":3,"t":3,"actor":"`+evil+`","kind":"hold","lock":1,"cause":2,"key":"`+evil+`"}
{"n":4,"t":4,"actor":"m1","kind":"execute","peer":"c1","cause":1,"text":"`+evil+`",`+
		`"details":[{"what":"script","key":"`+evil+`","text":"if `+evil+` then"},{"what":"line","line":1,"text":"`+evil+`"},`+
		`{"what":"call","text":"`+evil+`","reply":"`+evil+`"},{"what":"published","key":"`+evil+`","text":"`+evil+`"}]}
{"n":5,"t":5,"actor":"nemesis","kind":"partition","text":"`+evil+`"}
{"n":6,"t":6,"actor":"nemesis","kind":"pause","peer":"`+evil+`"}
`), 0o600))
	out, err := exec.Command(locksim, "page", events, "--html", html).CombinedOutput()
	require.NoError(t, err, string(out))
	v := visit(t, "file://"+dir, 1280)
	const shown = "<img src=x onerror=alert(1)></script><script>alert(2)</script>␀␛[31m⟨202e⟩\ufffd\ufffd"
	v.opens("file://" + html + "#event=2")
	v.sees("#event", shown)
	v.sees("#keys", shown)
	v.sees("#did", shown)
	v.sees("#list", shown)
	v.sees("#picture", "<img src=x")
	v.presses(kb.ArrowRight, kb.ArrowRight)
	v.sees("#event", "#4 ")
	v.sees("#did .decides", "if "+shown+" then ◆ decides")
	v.clicks("#did summary")
	v.sees("#did details ol", shown)
	v.presses(kb.End)
	v.sees("#event", "#6 ")
	var elements int
	v.asks(`document.querySelectorAll('img').length + document.querySelectorAll('script').length`, &elements)
	require.Equal(t, 2, elements, "the data and the page's own script")
}

// TestHostileAddress: what an address asks for is told as text.
func TestHostileAddress(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.expects("the server responded with a status of 422")
	v.opens(v.home + "run/%3Cimg%20src=x%20onerror=alert(1)%3E")
	v.sees(".notice", `<img src=x onerror=alert(1)>`)
	v.opens(v.home + "run/failover_before_replication?step=at%200s%20pause%20%3Cscript%3E%20for=1s")
	v.sees(".notice", `<script>`)
	v.clicks("nav a")
	v.sees("h1", "Redis locks under faults")
}
