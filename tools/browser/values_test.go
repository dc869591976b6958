package browser_test

import (
	"testing"
	"time"
)

// TestPageValues: a cell of the grid has the colour that the legend gives its time, and the item that took long is listed.
func TestPageValues(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4")
	job := f.sub("-name", "beauty_sh010_v012", "-cpus", "4", "-range", "1-24", "sh", "-c", "if [ $QB_FRAME_NUMBER = 8 ]; then sleep 5; else sleep 0.5; fi")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job+"?by=seconds")
	b.until(t, "the end of the job", `document.querySelector(".state")?.innerText.includes("complete") === true`)
	b.see(t, "One item stands out")
	b.see(t, "the item: half of the host's others need")
	b.until(t, "the slow item in the last colour of the legend, the others in another", `(() => {
		const canvas = document.querySelector(".grid canvas"), columns = Number(canvas.dataset.columns), size = Number(canvas.dataset.size), pen = canvas.getContext("2d");
		const cell = n => "rgb(" + [...pen.getImageData(n % columns * size + 2, Math.floor(n / columns) * size + 2, 1, 1).data.slice(0, 3)].join(", ") + ")";
		const entry = [...document.querySelectorAll("[aria-label=Legend] .legend")].find(e => e.innerText.startsWith("over "));
		const last = entry && getComputedStyle(entry.querySelector(".swatch")).backgroundColor;
		return Array.from({length: 24}, (_, n) => (cell(n) === last) === (n === 7)).every(Boolean);
	})()`)
	b.pictures(t, "job-seconds", "#/jobs/"+job+"?by=seconds")
	b.pictures(t, "job-host", "#/jobs/"+job+"?by=host")
	b.goTo(t, "#/jobs/"+job+"?by=attempts")
	b.until(t, "all items at their first attempt", `document.querySelector("[aria-label=Legend]")?.innerText.replace(/\s+/g, " ").startsWith("1 24") === true`)
	b.goTo(t, "#/jobs/"+job+"?by=memory")
	time.Sleep(500 * time.Millisecond) // whatever comes
	b.until(t, "peaks of memory", `document.querySelector("[aria-label=Legend]") !== null`)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
