package browser_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"strings"
	"testing"
)

// long is as much harm as a name may hold.
var long = string([]rune(strings.Repeat(hostile, 4))[:255])

// painted is a command that writes a picture of one colour.
func painted(t *testing.T, path string) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 64, 36))
	for i := range 64 * 36 {
		m.Set(i%64, i/64, color.NRGBA{200, 40, 30, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return "echo " + base64.StdEncoding.EncodeToString(out.Bytes()) + " | base64 -d > " + path
}

const drawn = `[...document.querySelectorAll(".pictures canvas")].filter(c => c.width === 64 && c.getContext("2d").getImageData(9, 9, 1, 1).data[0] > 180)`

// illustrated is a job whose items write pictures; of the last one of its name a text that is none.
func (f *farm) illustrated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(f.state), "p.")
	return f.sub("-name", long, "-notes", strings.Repeat(hostile, 20), "-priority", "5", "-max_cpus", "8", "-range", "1-60", "-validate", path+"QB_FRAME_NUMBER.png",
		"sh", "-c", `if [ $QB_FRAME_NUMBER = 60 ]; then echo text > `+path+`60.png; else `+painted(t, path+"$QB_FRAME_NUMBER.png")+`; fi`, strings.Repeat(hostile, 500))
}

// illustrations: pictures come by themselves, those alone that are seen.
func (b *tab) illustrations(t *testing.T, job string) {
	t.Helper()
	b.goTo(t, "#/jobs/"+job+"?tab=pictures")
	b.until(t, "the end of the job", `document.querySelector(".state")?.innerText.includes("complete") === true`)
	b.until(t, "all items of a page", `document.querySelectorAll(".pictures canvas").length === 48`)
	b.until(t, "pictures", drawn+`.length >= 7`)
	if n := js[int](t, b, `document.querySelector("main").scrollTop === 0 ? `+drawn+`.length : 0`); n > 40 {
		t.Errorf("%d pictures are there, and not so many are seen", n)
	}
	b.picture(t, "pictures")
	js[any](t, b, `document.querySelector("main").scrollTop = 1e6`)
	b.until(t, "those below", `document.querySelectorAll(".pictures canvas")[47].width === 64`)
	b.press(t, "Next 48")
	b.until(t, "the rest", `document.querySelectorAll(".pictures canvas").length === 12`)
	js[any](t, b, `document.querySelector("main").scrollTop = 1e6`)
	b.see(t, "the worker does not know the format of the output file")
	b.goTo(t, "#/jobs/"+job+"/items/7")
	b.until(t, "the picture of an item", drawn+`.length === 1`)
	b.pictures(t, "item-picture", "#/jobs/"+job+"/items/7")
}

// history: what was done on the farm is found by who did it and what it was.
func (b *tab) history(t *testing.T, job string) {
	t.Helper()
	b.run("block", job)
	b.run("unblock", job)
	b.goTo(t, "#/history")
	b.until(t, "the order", `[...document.querySelectorAll("tbody tr")].some(e => e.innerText.includes("ordered block") && e.innerText.includes("root") && e.innerText.includes("`+job+`"))`)
	b.fill(t, "type", "ordered-unblock")
	b.until(t, "that alone", `document.querySelectorAll("tbody tr").length === 1 && location.hash.includes("type=ordered-unblock")`)
	b.pictures(t, "history", "#/history")
	b.goTo(t, "#/history?user=nobody")
	b.see(t, "Nothing of this kind was done")
	b.press(t, "Show all")
	b.until(t, "all again", `document.querySelectorAll("tbody tr").length > 2`)
}

// share: the curve has the job, by job and by user; of a time that nobody sampled nothing is told.
func (b *tab) share(t *testing.T, job string) {
	t.Helper()
	b.goTo(t, "#/share")
	b.until(t, "the curve and the job", `document.querySelector(".curve canvas") !== null && document.querySelector('tbody a[href="#/jobs/`+job+`"]') !== null`)
	b.pictures(t, "share", "#/share")
	b.press(t, "User")
	b.until(t, "the user", `location.hash.includes("by=user") && document.querySelector('tbody a[href="#/fairshare/root"]') !== null`)
	b.goTo(t, "#/share?to=2020-01-01T00:00:00Z")
	b.see(t, "Nothing is known of this time")
}

// columns: the choice stands in the address and is kept.
func (b *tab) columns(t *testing.T) {
	t.Helper()
	const head = `[...document.querySelectorAll("[role=columnheader]")].some(e => e.innerText.trim() === "Account")`
	choose := func() {
		b.until(t, "the choice of a column", `(() => { const e = [...document.querySelectorAll(".menu .choice")].find(e => e.textContent.trim() === "Account")?.querySelector("input"); e?.click(); return Boolean(e); })()`)
	}
	b.goTo(t, "#/jobs")
	choose()
	b.until(t, "the column", head+` && location.hash.includes("cols=")`)
	b.goTo(t, "#/")
	b.see(t, "Slots in use")
	b.goTo(t, "#/jobs")
	b.until(t, "the column, kept", head)
	choose()
	b.until(t, "its end", `!`+head+` && !location.hash.includes("cols=")`)
}

// notices: somebody is told that a job has ended, wherever he is on the page.
func (b *tab) notices(t *testing.T) {
	t.Helper()
	job := b.sub("-name", long, "-priority", "6", "-range", "1", "sleep", "600")
	b.goTo(t, "#/jobs/"+job)
	b.press(t, "Tell me")
	b.see(t, "you get a notice when job "+job+" ends")
	b.goTo(t, "#/hosts")
	b.run("kill", job)
	b.until(t, "the notice", `[...document.querySelectorAll(".notice")].some(e => e.innerText.startsWith("job `+job+`") && e.innerText.includes("killed"))`)
	b.until(t, "the count", `[...document.querySelectorAll("a.undo")].some(e => e.innerText === "Notices 1")`)
	b.press(t, "Notices 1")
	b.until(t, "the list", `[...document.querySelectorAll("tbody tr")].some(e => e.innerText.includes("`+job+`") && e.innerText.includes("killed"))`)
	b.until(t, "no count", `![...document.querySelectorAll("a.undo")].some(e => e.innerText.startsWith("Notices"))`)
	b.pictures(t, "notices", "#/notices")
}

// host: what runs there, and a lock that its own past tells of.
func (b *tab) host(t *testing.T, job string) {
	t.Helper()
	b.goTo(t, "#/hosts/h")
	b.see(t, "held now")
	b.until(t, "what runs", `document.querySelector('[aria-label="What runs"] a[href="#/jobs/`+job+`"]') !== null`)
	b.press(t, "Lock")
	b.see(t, "qblock h")
	b.press(t, "Lock")
	b.until(t, "the lock", `document.querySelector("main .state").innerText.includes("locked")`)
	b.press(t, "Unlock")
	b.see(t, "qbunlock h")
	b.press(t, "Unlock")
	b.until(t, "its end", `document.querySelector("main .state").innerText.includes("up")`)
	b.goTo(t, "#/hosts")
	b.until(t, "the hosts", `document.querySelector(".row-line") !== null`)
	b.goTo(t, "#/hosts/h")
	b.until(t, "what was done", `document.querySelector('[aria-label="What was done"]')?.innerText.includes("host unlocked") === true`)
	b.pictures(t, "host", "#/hosts/h")
	b.goTo(t, "#/hosts/nothing")
	b.see(t, "All hosts")
}
