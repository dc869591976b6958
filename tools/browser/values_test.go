package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
	b.bars(t)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// bars draws the bar of jobs with random numbers: what is solid is what is complete, the parts are as wide as their numbers
// say, and the per cent is that of the solid part.
func (b *tab) bars(t *testing.T) {
	t.Helper()
	wrong, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`(async () => {
		const [{ html, render }, { Bar }] = await Promise.all([import("htm/preact"), import(document.querySelector("script[type=module]").src.replace("app.js", "parts.js"))]);
		const wrong = [], box = document.body.appendChild(document.createElement("div")), names = ["complete", "running", "failed", "killed", "blocked", "pending"];
		box.style.width = "640px";
		let seed = 7;
		const draw = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
		for (let turn = 0; turn < 400 && wrong.length < 5; turn++) {
			const job = Object.fromEntries(names.map(name => [name, draw(3) ? 0 : draw([2, 10, 100_000][draw(3)])]));
			job.total = names.reduce((sum, name) => sum + job[name], 0);
			render(html`+"`<${Bar} job=${job} />`"+`, box);
			const bar = box.querySelector(".bar"), all = bar.getBoundingClientRect().width, parts = [...bar.children], width = list => list.reduce((sum, e) => sum + e.getBoundingClientRect().width, 0);
			const near = (list, number) => Math.abs(width(list) - (job.total ? all * number / job.total : 0)) <= 2 * names.length; // a part has two pixels at least
			const solid = parts.filter(e => getComputedStyle(e).opacity === "1"), percent = parseInt(box.querySelector(".percent").innerText);
			const said = names.slice(0, -1).every(name => near(parts.filter(e => e.className === "fill-" + name), job[name]));
			if (all < 400 || !said || !near(solid, job.complete) || solid.length > 1 || percent !== (job.total ? Math.floor(100 * job.complete / job.total) : 0)) wrong.push(JSON.stringify(job) + box.innerHTML);
		}
		box.remove();
		return wrong;
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
