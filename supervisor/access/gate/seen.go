package gate

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"
)

// LimitBodyTime bounds the wait for a request's body. The limit is lifted at the body's end, for it would
// cut off held answers and streams otherwise: a connection whose read times out is taken for gone.
func LimitBodyTime(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(d)) // a connection always can
	r.Body = &timedBody{ReadCloser: r.Body, lift: func() { _ = control.SetReadDeadline(time.Time{}) }}
}

type timedBody struct {
	io.ReadCloser
	lift func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.lift()
	}
	return n, err
}

// ResponseRecorder remembers what was answered, for the metrics.
type ResponseRecorder struct {
	http.ResponseWriter
	Status   int
	Endpoint string // set by the operation; empty if none was reached
}

// WriteHeader remembers the first status.
func (w *ResponseRecorder) WriteHeader(status int) {
	w.Status = cmp.Or(w.Status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *ResponseRecorder) Write(p []byte) (int, error) {
	w.Status = cmp.Or(w.Status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *ResponseRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
