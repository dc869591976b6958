package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// statements are what views say when an answer has nothing.
const statements = `["No output", "has not started yet", "No item has started yet", "No job waits", "You have no jobs", "There are no jobs yet", "No worker has registered", "Nothing has run", "No item is like this", "Nothing is known", "Nothing was done", "No attempt has ended", "Nobody has used"].filter(text => document.body.innerText.includes(text))`

// TestPageWaits: while no answer comes, no view says what it may be; it says that it reads. Then it shows what came.
func TestPageWaits(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "shot", "-range", "1-3", "-retrywork", "0", "sh", "-c", "echo it has written; exit 3")
	for f.run("jobs", "-no-headers", "-fields", "status", job) != "failed" {
		time.Sleep(100 * time.Millisecond)
	}
	b := openTab(t, f)
	b.logIn(t)
	for _, v := range []struct{ address, shows string }{
		{"#/jobs/" + job + "/items/2", "it has written"}, {"#/jobs/" + job, "it has written"}, {"#/jobs/" + job + "?tab=attempts", "failed"}, {"#/jobs/" + job + "?tab=history", "When"},
		{"#/hosts/h", "What runs"}, {"#/slots", "free"}, {"#/reports", "Slot-hours"}, {"#/history", "When"}, {"#/fairshare", "Who is served first"}, {"#/me", "session of the page"}, {"#/share", "Share over time"},
		{"#/submit?from=" + job, "qbsub -name shot"},
	} {
		b.goTo(t, "#/submit")
		b.see(t, "Expert Mode")
		if _, err := chromedp.Call(b.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/v1/*"}}}); err != nil {
			t.Fatal(err)
		}
		b.goTo(t, v.address)
		b.see(t, "Reading…")
		time.Sleep(700 * time.Millisecond) // what would be said after a while
		if said := js[[]string](t, b, statements); len(said) > 0 {
			t.Errorf("%s says %q before an answer is there", v.address, strings.Join(said, ", "))
		}
		if _, err := chromedp.Call(b.ctx, fetch.Disable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		b.see(t, v.shows)
	}
	b.otherQuestions(t, job)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// otherQuestions asks views that have an answer something else: the answer to that is not there yet, and what stands there
// is not the one before.
func (b *tab) otherQuestions(t *testing.T, job string) {
	t.Helper()
	for _, v := range []struct{ address, shows, other, after string }{
		{"#/history", "job failed", "#/history?user=nobody", "Nothing of this kind was done"}, {"#/share", "Primary", "#/share?last=21600&by=user", "Primary"},
		{"#/reports", "Slot-hours", "#/reports?days=7&by=host", "Slot-hours"}, {"#/jobs/" + job, "exit status 3", "#/jobs/" + job + "?state=failed&exit=exit%204&on=h", "No item is like this"},
	} {
		b.goTo(t, v.address)
		b.see(t, v.shows)
		if _, err := chromedp.Call(b.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/v1/*"}}}); err != nil {
			t.Fatal(err)
		}
		b.goTo(t, v.other)
		b.see(t, "Reading…")
		time.Sleep(700 * time.Millisecond) // what would be said after a while
		if js[bool](t, b, `[...document.querySelectorAll("main table")].some(e => e.innerText.includes("exit status 3") && e.innerText.includes("Attempt") || e.innerText.includes("job failed") || e.innerText.includes("Slot-hours")) || document.querySelector("main .curve") !== null`) {
			t.Errorf("%s shows what %s was answered", v.other, v.address)
		}
		if _, err := chromedp.Call(b.ctx, fetch.Disable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		b.see(t, v.after)
	}
}
