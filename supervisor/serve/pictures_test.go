package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/store/logstore"
	"qb/supervisor/wire/translate"
)

func jpegOf(text string) []byte { return append([]byte{0xff, 0xd8, 0xff}, text...) }

// TestPictures: a worker sends the picture of an item's output. Users who may read the output see it, and it is deleted
// with its job.
func TestPictures(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	token := r.token("u1", api.User)
	job := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1"}).Job
	worker.until("the item runs", func() bool { return len(worker.running) == 1 })
	id := api.AttemptID{Job: job, Item: 0, Number: 1}
	get := func(query string, headers http.Header) *http.Response {
		t.Helper()
		return r.raw("GET", "/v1/jobs/1/items/1/picture"+query, token, "", headers)
	}
	if resp := get("", nil); resp.StatusCode != http.StatusNotFound || !strings.Contains(text(t, resp), api.PictureNone) {
		t.Errorf("before there is one: %d", resp.StatusCode)
	}
	ship := api.AppendPicture
	refused(t, api.KindForbidden, u1, ship, nil, api.Picture{Attempt: id, Data: jpegOf("forged")})
	refused(t, api.KindNotFound, worker.client, ship, nil,
		api.Picture{Attempt: api.AttemptID{Job: job, Item: 0, Number: 2}, Data: jpegOf("x")})
	refused(t, api.KindInvalid, worker.client, ship, nil, api.Picture{Attempt: id, Data: []byte("<svg onload=alert(1)>")})
	refused(t, api.KindInvalid, worker.client, ship, nil,
		api.Picture{Attempt: id, Data: jpegOf(strings.Repeat("x", api.MaxPicture))})
	for code, want := range map[string]string{api.PictureTooLarge: api.PictureTooLarge, "<script>": api.PictureFailed} {
		must[struct{}](t, worker.client, ship, nil, api.Picture{Attempt: id, Code: code})
		if resp := get("", nil); resp.StatusCode != http.StatusNotFound || !strings.Contains(text(t, resp), want) {
			t.Errorf("with the code %s: %d", code, resp.StatusCode)
		}
	}
	must[struct{}](t, worker.client, ship, nil, api.Picture{Attempt: id, Data: jpegOf("small")})
	resp := get("?attempt=1", nil)
	if got := text(t, resp); got != string(jpegOf("small")) || resp.Header.Get("Content-Type") != "image/jpeg" ||
		resp.Header.Get("X-Content-Type-Options") != "nosniff" ||
		resp.Header.Get(api.AttemptHeader) != "1" || !strings.Contains(resp.Header.Get("Content-Security-Policy"),
		"sandbox") {
		t.Errorf("%q %v", got, resp.Header)
	}
	if again := get(
		"", http.Header{"If-None-Match": {resp.Header.Get("ETag")}}); again.StatusCode != http.StatusNotModified ||
		text(t, again) != "" {
		t.Errorf("asked again: %d", again.StatusCode)
	}
	worker.finish(0)
	worker.beat(0)
	path := filepath.Join(r.state, "logs", logstore.PictureName(translate.AttemptID(id)))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	eventually(t, "the removal of the job", func() bool {
		return u1.Call(t.Context(), api.RemoveJob, params("job", job), nil, nil) == nil
	})
	eventually(t, "the removal of its picture", func() bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	})
}
