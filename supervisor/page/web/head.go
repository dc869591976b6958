package web

import (
	"errors"
	"net/http"
	"sync"
)

// Head answers HEAD by the handler of GET: it sends the header and ends the answer at the first byte of the body, so
// that an endless answer ends, too.
func Head(w http.ResponseWriter, r *http.Request, get http.HandlerFunc) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	get(&headOnly{ResponseWriter: w}, r)
}

var errHeadOnly = errors.New("the answer to HEAD has no body")

type headOnly struct {
	http.ResponseWriter
	sent bool
}

func (w *headOnly) WriteHeader(status int) {
	if !w.sent {
		w.sent = true
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *headOnly) Write([]byte) (int, error) { return 0, w.FlushError() }

// FlushError is how http.ResponseController flushes.
func (w *headOnly) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return errHeadOnly
}

// Once serves a text that is made for the first request.
func Once(contentType string, text func() ([]byte, error)) http.HandlerFunc {
	text = sync.OnceValues(text)
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := text()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data) // the reader may be gone
	}
}
