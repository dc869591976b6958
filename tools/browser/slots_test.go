package browser_test

import "testing"

// TestPageSlots: what is drawn for a slot is the colour that the legend has for its job, and a click on it leads to its item.
func TestPageSlots(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "8")
	f.sub("-name", "beauty_sh010_v012", "-priority", "100", "-cpus", "2", "-max_cpus", "4", "-range", "1-500", "sleep", "600")
	f.sub("-name", hostile, "-priority", "200", "-cpus", "1", "-max_cpus", "2", "-range", "1-500", "sleep", "600")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/slots")
	b.see(t, "Hollow slots are secondary")
	b.pictures(t, "slots", "#/slots")
	b.pictures(t, "slots-host", "#/slots?by=kind&host=h")
	b.goTo(t, "#/slots?by=kind")
	b.until(t, "a slot in the colour of its legend", `(() => {
		const canvas = document.querySelector(".slot-canvas"), swatch = [...document.querySelectorAll(".chip")].find(c => c.textContent.includes("primary") && c.querySelector(".swatch"));
		if (!canvas || !swatch) return false;
		const size = Number(canvas.dataset.size), x = (Number(canvas.dataset.names) + size / 2) * devicePixelRatio, y = 3 * devicePixelRatio;
		const pixel = [...canvas.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3)].join(", ");
		return getComputedStyle(swatch.querySelector(".swatch")).backgroundColor === "rgb(" + pixel + ")";
	})()`)
	js[any](t, b, `(() => { const c = document.querySelector(".slot-canvas"), r = c.getBoundingClientRect(); c.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: r.left + Number(c.dataset.names) + Number(c.dataset.size) / 2, clientY: r.top + 5})); })()`)
	b.until(t, "the item of the slot", `/^#\/jobs\/\d+\/items\//.test(location.hash)`)
	b.goTo(t, "#/slots?host=nothing")
	b.see(t, "there is no host")
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
