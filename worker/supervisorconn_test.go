package worker

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"qb/api"
)

// A worker whose token ended takes the token that its file has now.
func TestTokenIsReadAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"size":5}`))
	}))
	t.Cleanup(server.Close)
	f, err := newSupervisorConn(&agent{log: slog.New(slog.DiscardHandler)}, []string{server.URL}, "old", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.file = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(f.file, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = f.appendLog(t.Context(), api.LogChunk{}); api.ExitCode(err) != 4 {
		t.Fatalf("the old token: %v", err)
	}
	f.renew(err)
	if size, err := f.appendLog(t.Context(), api.LogChunk{}); size != 5 || err != nil {
		t.Errorf("the new token: %d, %v", size, err)
	}
}
