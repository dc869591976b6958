package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/shim"
)

// TestRecordedSupervisor is answered as a supervisor answered its worker, word for word except for the sync's number and
// the owner: one item, the next, none. There is a record of each protocol that a supervisor may speak with this worker.
func TestRecordedSupervisor(t *testing.T) {
	t.Parallel()
	record, err := os.ReadFile("testdata/protocol1/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprintf(`"user":"%s","uid":%d`, statedir.OwnName(), os.Getuid())
	text := strings.NewReplacer(`"user":"root","uid":0`, me, `"user":"root"`, `"user":"`+statedir.OwnName()+`"`).Replace(string(record))
	answers := strings.Split(strings.TrimSpace(text), "\n")
	var mu sync.Mutex
	ends := map[api.AttemptID]api.Finished{}
	released := make(chan struct{})
	serve := func(w http.ResponseWriter, r *http.Request) {
		var s api.Sync
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, f := range s.Finished {
			ends[f.Attempt] = f
		}
		if len(ends) == 2 && len(s.Finished) == 0 && len(s.Instances) == 0 {
			select {
			case <-released:
			default:
				close(released)
			}
		}
		var answer map[string]any
		if err := json.Unmarshal([]byte(answers[min(len(ends), len(answers)-1)]), &answer); err != nil {
			t.Error(err)
		}
		answer["sequence"], answer["answer"] = s.Sequence, 2*s.Sequence+1
		_ = json.NewEncoder(w).Encode(answer)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sync", serve)
	server := httptest.NewServer(mux) // and no way to take logs
	defer server.Close()
	config := testConfig(t, &scriptedFarm{server: server})
	runAgent(t, config)
	select {
	case <-released:
	case <-time.After(testPatience):
		t.Fatal("the second record is not let go")
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range []api.AttemptID{attempt(1, 0), attempt(1, 1)} {
		if f := ends[id]; f.Outcome != "exit" || *f.ExitCode != 0 || f.Wall <= 0 {
			t.Errorf("the end of %s is %+v", shim.AttemptName(id), f)
		}
	}
}
