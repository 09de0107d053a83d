package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"minikv/docs/lessons"
	"minikv/sim"
	"minikv/sim/explore"
	"minikv/sim/page"
)

func newServe() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the scenarios as pages, in which runs can be changed",
		Long: `Serve a page for each embedded scenario, and the matrix as a heat map whose
cells open their runs. A run can be branched (lose this message, pause this client,
crash this node, and see what happens then), or its file can be changed. Where a
promise is broken, the page tries what would have saved it.

Only this machine is served unless --addr says otherwise.`,
		Example: `  locksim serve
  locksim serve --addr 127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "locksim serves http://%s/ until Ctrl-C\n", listener.Addr()); err != nil {
				return err // nobody would know where
			}
			return serve(cmd.Context(), listener)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "address to listen on; port 0 means any free port")
	return cmd
}

// serve answers until ctx ends.
func serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: newSite(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// site answers for the pages.
type site struct {
	running sync.Mutex     // one run at a time: each may take all of a core
	list    []scenarioLine // of the index, once somebody has asked
}

// scenarioLine is a scenario on the index.
type scenarioLine struct {
	*sim.Scenario
	Verdicts []page.Verdict
}

// newSite is the handler of all pages.
func newSite() http.Handler {
	s := &site{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", answer(s.alone(s.index)))
	mux.HandleFunc("GET /run/{name...}", answer(s.alone(s.show)))
	mux.HandleFunc("GET /matrix", answer(heat))
	mux.HandleFunc("GET /lesson/{number}", answer(lesson))
	mux.HandleFunc("GET /explain/{name...}", answer(s.alone(s.explain)))
	mux.HandleFunc("POST /branch", answer(withForm(s.alone(s.branch))))
	for _, rest := range []string{"GET /", "GET /run/{$}", "GET /explain/{$}"} {
		mux.HandleFunc(rest, answer(func(_ http.ResponseWriter, r *http.Request) error {
			return noPage(r.URL.Path)
		}))
	}
	return http.NewCrossOriginProtection().Handler(local(mux))
}

// local refuses requests that name this machine otherwise than by its address or
// localhost: another site's name that leads here. Other sites may link to a page, but
// not have it run behind their reader's back.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "locksim: unknown host: expected an address, such as 127.0.0.1, or localhost",
				http.StatusMisdirectedRequest)
			return
		}
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "locksim: a request of another site", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// noPage is the error of a path at which there is no page.
type noPage string

// Error implements error.
func (p noPage) Error() string { return "there is no page " + string(p) }

// handler answers a request, with a page or with an error.
type handler func(http.ResponseWriter, *http.Request) error

// alone has f wait for the run of another request.
func (s *site) alone(f handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		s.running.Lock()
		defer s.running.Unlock()
		return f(w, r)
	}
}

// withForm reads what a form sends before f begins, so that a sender who is slow holds up
// nobody else either.
func withForm(f handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
		if err := r.ParseForm(); err != nil {
			return err
		}
		return f(w, r)
	}
}

// answer sends the page that f writes when it is complete, so that a reader who is slow
// holds up nobody else. It turns an error of f into a page of its own.
func answer(f handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		whole := &buffered{ResponseWriter: w, code: http.StatusOK}
		if err := f(whole, r); err != nil {
			whole.body.Reset()
			refuse(whole, r, err)
		}
		w.WriteHeader(whole.code)
		_, _ = whole.body.WriteTo(w) // who has left reads no error either
	}
}

// refuse writes the page of an error.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusUnprocessableEntity
	if errors.As(err, new(noPage)) {
		code = http.StatusNotFound
	}
	w.WriteHeader(code)
	run, file := "", ""
	if r.URL.Path == "/run/"+ownName {
		run, file = r.URL.Path, r.URL.Query().Get("file")
	}
	_ = page.WriteRefusal(w, "/", err.Error(), run, file)
}

// buffered keeps a response until it is complete.
type buffered struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(code int) { b.code = code }

// Write implements http.ResponseWriter.
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// index lists the scenarios with what they claim and what their runs showed.
func (s *site) index(w http.ResponseWriter, r *http.Request) error {
	if s.list == nil {
		lua := sim.NewLua()
		var list []scenarioLine
		for _, one := range sim.Library() {
			report, err := one.Run(r.Context(), sim.Options{Seed: one.Seed, Lua: lua})
			if err != nil {
				return fmt.Errorf("%s: %w", one.Name, err)
			}
			list = append(list, scenarioLine{one, page.FromReport(report, nil, "").Verdicts})
		}
		s.list = list
	}
	index := page.Index{Matrix: "/matrix"}
	for _, one := range s.list {
		index.Entries = append(index.Entries, page.Entry{Name: one.Name, Address: address(one.Name, one.Seed, nil),
			Claim: one.Claim, Verdicts: one.Verdicts})
	}
	for i, text := range lessons.Texts() {
		index.Lessons = append(index.Lessons, page.Lesson{Title: page.Title(text), Address: fmt.Sprintf("/lesson/%d", i+1)})
	}
	return index.Write(w)
}

// lesson shows a lesson, with links to the runs that it names.
func lesson(w http.ResponseWriter, r *http.Request) error {
	texts := lessons.Texts()
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(texts) {
		return fmt.Errorf("there is no lesson %q: there are %d", r.PathValue("number"), len(texts))
	}
	return page.WriteText(w, "/", texts[n-1], func(name string) string { return "/run/" + name })
}

// address is where a run is shown.
func address(name string, seed uint64, steps []string) string {
	query := url.Values{"seed": {strconv.FormatUint(seed, 10)}, "step": steps}
	return "/run/" + url.PathEscape(name) + "?" + query.Encode()
}

// show runs a scenario, with the steps that were added, and shows it.
func (s *site) show(w http.ResponseWriter, r *http.Request) error {
	b, err := newBranch(r.PathValue("name"), r.URL.Query())
	if err != nil {
		return err
	}
	report, events, err := b.run(r.Context())
	if err != nil {
		return err
	}
	p := page.FromReport(report, events, replayCommand(b.file.Name, b.file, report))
	p.Live = &page.Live{Home: "/", Branch: "/branch", Scenario: b.file.Name, Seed: b.seed, Steps: b.steps,
		File: b.scenario.Text(), Own: b.own, Run: "/run/" + ownName,
		Explain: "/explain/" + url.PathEscape(b.file.Name) + "?" + b.query()}
	if cell := cellOfRun(b.file.Name); cell != nil {
		describe(p, cell)
		p.Live.Matrix = "/matrix"
	}
	if len(b.steps) > 0 || b.own != "" {
		p.Replay = "" // no command has it
	}
	if len(b.steps) > 0 {
		p.Title += ", branched"
		p.Claim = ""
		for i := range p.Verdicts {
			p.Verdicts[i].Expected = ""
		}
	}
	return p.Write(w)
}

// branch adds a step to a run and sends the browser there.
func (s *site) branch(w http.ResponseWriter, r *http.Request) error {
	b, err := newBranch(r.PostForm.Get("scenario"), r.PostForm)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PostForm.Get("event"))
	if err != nil {
		return fmt.Errorf("event %q: expected a number", r.PostForm.Get("event"))
	}
	step, err := b.step(r.Context(), r.PostForm.Get("what"), n)
	if err != nil {
		return err
	}
	http.Redirect(w, r, b.address(step)+"#event="+strconv.Itoa(n), http.StatusSeeOther)
	return nil
}

// explain says why a run broke a promise, and tries what could have saved it.
func (s *site) explain(w http.ResponseWriter, r *http.Request) error {
	b, err := newBranch(r.PathValue("name"), r.URL.Query())
	if err != nil {
		return err
	}
	if _, _, err := b.run(r.Context()); err != nil {
		return err // it is too long
	}
	e, err := explore.Explain(r.Context(), explore.Problem{Scenario: b.scenario})
	if err != nil {
		return err
	}
	if e == nil {
		return fmt.Errorf("%s violates nothing: there is nothing to explain", b.file.Name)
	}
	x := &page.Explanation{Run: b.address(), Story: e.Story, Broken: e.Broken, Order: e.Order}
	if b.file.Name != ownName {
		x.Name = b.file.Name
	}
	for _, one := range e.Remedies {
		x.Remedies = append(x.Remedies, page.Remedy{Name: one.Name, Effect: one.Effect(e.Result.Check), Saves: one.Saves,
			Address: "/run/" + ownName + "?" + url.Values{"file": {one.Story.Text()}}.Encode()})
	}
	return x.Write(w, "/")
}
