package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHead: the answer to HEAD is the header of the answer to GET, and it ends even if that answer would not.
func TestHead(t *testing.T) {
	for name, get := range map[string]http.HandlerFunc{
		"text": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Kind", "text")
			_, _ = io.WriteString(w, "hello")
		},
		"stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Kind", "stream")
			for http.NewResponseController(w).Flush() == nil {
			}
			panic(http.ErrAbortHandler)
		},
	} {
		rec := httptest.NewRecorder()
		Head(rec, httptest.NewRequest(http.MethodHead, "/", nil), get)
		if rec.Code != http.StatusOK || rec.Header().Get("X-Kind") != name || rec.Body.Len() > 0 {
			t.Errorf("%s: %d, %v, %d bytes", name, rec.Code, rec.Header(), rec.Body.Len())
		}
	}
}
