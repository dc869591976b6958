package worker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
)

func (f *scriptedFarm) servePicture(w http.ResponseWriter, r *http.Request) {
	var p api.Picture
	if json.NewDecoder(r.Body).Decode(&p) != nil {
		f.t.Error("a picture cannot be read")
	}
	f.with(func() { f.pictures[p.Attempt] = p; f.stir() })
	w.Write([]byte("{}"))
}

// drawn is a command that writes a PNG.
func drawn(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
		t.Fatal(err)
	}
	return "echo " + base64.StdEncoding.EncodeToString(out.Bytes()) + " | base64 -d > " + path
}

// TestPictures: what an item that is done has written is shown, by the name that -validate checks; what a failed item
// has written is not. An end does not wait for a picture.
func TestPictures(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	config := testConfig(t, f)
	gate := filepath.Join(t.TempDir(), "gate")
	config.Pictures, config.PictureCommand = true, []string{"sh", "-c", "while [ ! -e " + gate + " ]; do sleep 0.05; done; cat >/dev/null; exit 1"}
	runAgent(t, config)
	dir := t.TempDir()
	specs := []api.JobSpec{
		{Command: []string{"echo exr > item.1.exr"}, Validate: []string{"item.QB_FRAME_NUMBER.exr"}},
		{Command: []string{drawn(t, "item.2.png")}, Validate: []string{"item.QB_FRAME_NUMBER.png:8"}},
		{Command: []string{drawn(t, "item.3.png") + "; exit 1"}, Validate: []string{"item.3.png"}},
		{Command: []string{drawn(t, "item.4.png")}},
		{Command: []string{"echo text > item.5.txt; " + drawn(t, "item.5.png")}, Validate: []string{"item.5.txt", "item.5.png"}},
	}
	for i := range specs {
		specs[i].Shell, specs[i].Cwd = true, dir
	}
	f.each(specs, func(int, api.Finished) {}) // all ends are here
	f.with(func() {
		if p := f.pictures[attempt(1, 0)]; p.Code != "" {
			t.Errorf("the first was made before it could be: %+v", p)
		}
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.await("the pictures", func() bool { return len(f.pictures) >= 3 }) // in the order of the ends
	f.with(func() {
		for n, code := range map[int]string{1: api.PictureConverter, 2: "", 3: "none", 4: "none", 5: ""} {
			p, there := f.pictures[attempt(int64(n), n-1)]
			if there == (code == "none") || there && (p.Code != code || (p.Data == nil) == (code == "")) {
				t.Errorf("picture %d: %v %q, %d bytes", n, there, p.Code, len(p.Data))
			}
		}
	})
}

// TestPicturesAreMadeAsTheOwner: the worker is root, and shows nothing that the item's owner may not read.
func TestPicturesAreMadeAsTheOwner(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	dir, err := os.MkdirTemp("/tmp", "qb-pictures-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	gate, by := filepath.Join(dir, "gate"), filepath.Join(dir, "by")
	config.Pictures, config.PictureCommand = true, []string{"sh", "-c", "id -un >" + by + "; while [ ! -e " + gate + " ]; do sleep 0.05; done; exit 1"}
	runAgent(t, config)
	for id, line := range []string{"echo exr > " + dir + "/0", drawn(t, dir+"/1"), drawn(t, dir+"/2")} {
		spec := f.job(int64(id+1), line)
		spec.Shell, spec.User, spec.Cwd, spec.Validate = true, u.Username, "/", []string{filepath.Join(dir, strconv.Itoa(id))}
		f.with(func() { f.specs[spec.Job] = spec })
		f.want(core.Key{Job: spec.Job, Instance: 0}, attempt(spec.Job, 0))
		f.awaitEnd(attempt(spec.Job, 0))
	}
	// While the first picture is being made, the second file becomes root's own.
	if err := errors.Join(os.Chown(filepath.Join(dir, "1"), 0, 0), os.Chmod(filepath.Join(dir, "1"), 0o600), os.WriteFile(gate, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	f.await("the pictures", func() bool { return len(f.pictures) == 3 })
	f.with(func() {
		for id, code := range []string{api.PictureConverter, api.PictureDenied, ""} {
			if p := f.pictures[attempt(int64(id+1), 0)]; p.Code != code || (code == "") != (p.Data != nil) {
				t.Errorf("picture %d: code %q, %d bytes", id, p.Code, len(p.Data))
			}
		}
	})
	if who, err := os.ReadFile(by); strings.TrimSpace(string(who)) != u.Username {
		t.Errorf("the command runs as %q, %v", who, err)
	}
}
