package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// logIn opens the link of qb open.
func (b *tab) logIn(t *testing.T) {
	t.Helper()
	b.do(t, chromedp.Navigate(b.run("open")))
	b.see(t, "Slots in use")
}

// fill types into a field of a view.
func (b *tab) fill(t *testing.T, name, value string) {
	t.Helper()
	b.until(t, "the field "+name, fmt.Sprintf(`(() => { const e = document.querySelector("main input[name=%s]"); if (!e || e.disabled) return false; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`, name, value))
}

func (b *tab) theme(t *testing.T, want string) {
	t.Helper()
	if js[string](t, b, `document.documentElement.dataset.theme`) != want {
		js[any](t, b, `document.querySelector('[aria-label="Dark or light"]').click()`)
	}
}

// TestPageViews walks through what shows before and after: a change is tried, made, and refused when somebody else was first. Then
// what was, what is told, and what was written.
func TestPageViews(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "8")
	wide := f.sub("-name", "beauty_sh010_v012", "-priority", "100", "-cpus", "2", "-max_cpus", "8", "-range", "1-500", "sleep", "600")
	other := f.sub("-name", "comp_sh020_with_a_long_name_that_says_which_version_of_which_shot_it_is_v003", "-priority", "200", "-max_cpus", "8", "-range", "1-500", "sleep", "600")
	f.sub("-name", hostile, "-priority", "300", "-range", "1-3", "true")
	f.sub("-name", "ended_well", "-priority", "10", "-cpus", "2", "-range", "1-6", "sleep", "1")
	f.sub("-name", "ended_badly", "-priority", "11", "-range", "1-2", "false")
	illustrated := f.illustrated(t)
	b := openTab(t, f)
	b.logIn(t)
	b.motion(t)
	b.illustrations(t, illustrated)
	b.columns(t)
	b.notices(t)
	b.host(t, wide)
	b.history(t, other)
	b.share(t, wide)
	b.whatIf(t, wide, other)
	b.reports(t)
	b.fairshare(t)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

func (b *tab) whatIf(t *testing.T, wide, other string) {
	t.Helper()
	b.goTo(t, "#/what-if")
	b.see(t, "Try a change before making it")
	b.pictures(t, "whatif-empty", "#/what-if")
	b.goTo(t, "#/jobs/"+wide)
	b.until(t, "the way to what-if", `(() => { const a = document.querySelector('main a[href*="what-if"]'); a?.click(); return Boolean(a); })()`)
	b.see(t, "the farm's own planner")
	b.fill(t, "max_cpus", "3")
	b.see(t, "Who gains, who loses")
	b.see(t, "loses")
	b.see(t, "qbmodify -mmax_cpus 3 "+wide)
	b.pictures(t, "whatif", "#/what-if?job="+wide+"&max_cpus=3")
	b.run("modify", "-mmax_cpus", "7", wide)
	b.press(t, "Do it")
	b.see(t, "Change job ")
	b.press(t, "Do it")
	b.see(t, "changed meanwhile")
	b.see(t, "max_cpus: shown 8, now 7")
	b.picture(t, "whatif-changed")
	b.press(t, "Look again")
	time.Sleep(time.Second)
	b.see(t, "as of")
	b.press(t, "Do it")
	b.see(t, "Change job ")
	b.press(t, "Do it")
	b.until(t, "the change", `document.querySelector("main input[name=max_cpus]").placeholder === "3 now"`)
	if got := b.run("jobs", "-no-headers", "-fields", "max_cpus", wide); got != "3" {
		t.Errorf("the change that was done leaves max_cpus at %s", got)
	}
	b.goTo(t, "#/what-if?lock=h")
	b.see(t, "qblock h")
	b.see(t, "Slots left free")
	b.goTo(t, "#/what-if?job="+other+"&cpus=many")
	b.until(t, "a refusal", `document.querySelector("main [role=alert]") !== null`)
	b.picture(t, "whatif-refused")
}

// pictures leaves a view in both themes and on a telephone.
func (b *tab) pictures(t *testing.T, name, address string) {
	t.Helper()
	for _, theme := range []string{"light", "dark"} {
		b.theme(t, theme)
		b.goTo(t, address)
		time.Sleep(700 * time.Millisecond) // what comes after the first sight
		b.picture(t, name+"-"+theme)
	}
	b.theme(t, "light")
	b.do(t, chromedp.EmulateViewport(360, 740))
	time.Sleep(500 * time.Millisecond)
	if wide := js[int](t, b, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("%s is %d pixels wide", name, wide)
	}
	b.picture(t, name+"-360")
	b.do(t, chromedp.EmulateViewport(1440, 900))
}

// reports: the curve and the table are there, and a name leads to its own curve.
func (b *tab) reports(t *testing.T) {
	t.Helper()
	b.goTo(t, "#/reports")
	b.see(t, "Share over time")
	b.until(t, "the curve", `document.querySelector(".curve canvas") !== null`)
	b.pictures(t, "reports", "#/reports")
	b.press(t, "Account")
	b.see(t, "qbstats -by account")
	b.goTo(t, "#/reports?by=user&of=nobody")
	b.see(t, "No attempt has ended")
	b.picture(t, "reports-empty")
}

// TestPageSubmit: the form says while somebody types what the range is, and what is wrong at its field; the draft stays.
func TestPageSubmit(t *testing.T) {
	t.Parallel()
	b := openTab(t, startFarm(t, "8"))
	b.logIn(t)
	b.goTo(t, "#/submit")
	b.see(t, "Expert Mode")
	b.fill(t, "range", "1-100x5,200")
	b.see(t, "→ 21 items: 1 6 11 … 96 200")
	b.fill(t, "command", "render")
	b.fill(t, "reservations", "host.love=1")
	b.see(t, "no host can run this job now")
	b.fill(t, "range", "1-100x")
	b.until(t, "a refusal at the range", `document.querySelector("main input[name=range][aria-invalid]")?.closest("label").querySelector(".field-error")?.innerText.includes("1-100x") ?? false`)
	b.until(t, "one refusal alone", `document.querySelectorAll("main .field-error").length === 1`)
	b.picture(t, "submit-refused")
	b.fill(t, "range", "1-7")
	b.see(t, "→ 7 items: 1 2 3 … 6 7")
	b.fill(t, "priority", "0")
	b.until(t, "a refusal at the priority", `document.querySelector("main input[name=priority][aria-invalid]") !== null`)
	b.see(t, "→ 7 items: 1 2 3 … 6 7")
	b.pictures(t, "submit-checked", "#/submit")
	b.goTo(t, "#/jobs")
	b.goTo(t, "#/submit")
	b.see(t, "→ 7 items: 1 2 3 … 6 7")
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// fairshare: the ledger adds up to the factor.
func (b *tab) fairshare(t *testing.T) {
	t.Helper()
	b.run("admin", "share", "set", "root", "-budget", "10h")
	b.goTo(t, "#/fairshare")
	b.see(t, "Who is served first")
	b.see(t, "its jobs wait")
	b.pictures(t, "fairshare", "#/fairshare")
	b.goTo(t, "#/fairshare/root")
	b.see(t, "= usage that counts")
	b.pictures(t, "ledger", "#/fairshare/root")
	b.goTo(t, "#/fairshare/nobody")
	b.see(t, "has no shares")
}

// motion: nothing moves where the system asks for that; where it does not, something does, so that the test would see it.
func (b *tab) motion(t *testing.T) {
	t.Helper()
	const moving = `[...document.querySelectorAll("*")].filter(e => { const s = getComputedStyle(e); return parseFloat(s.transitionDuration) > 0 || s.animationName !== "none"; }).length`
	for _, c := range []struct {
		want  string
		moves bool
	}{{"reduce", false}, {"no-preference", true}} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: c.want}}}
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		b.goTo(t, "#/jobs")
		b.see(t, "Submit a job")
		if n := js[int](t, b, moving); (n > 0) != c.moves {
			t.Errorf("with %s %d elements move", c.want, n)
		}
	}
}
