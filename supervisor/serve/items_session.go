package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"qb/api"
	"qb/supervisor/store/logstore"
)

// sessionsMost is how many sessions of an instance are read at a time, the latest ones.
const sessionsMost = 100

type sessionLogIn struct {
	Job      int64  `path:"job" minimum:"1" doc:"The job's id."`
	Instance int    `path:"instance" minimum:"0" maximum:"2147483647" doc:"N of JOB.N."`
	Stream   string `query:"stream" enum:"stdout,stderr,both" default:"both" doc:"Both keeps the order in which they were written. Lines of qb itself, such as why a program ended, are in stderr."`
}

// sessionLog streams what the programs of a load-once job's instance wrote between two items, as plain text. It is
// empty if there is none.
func (s *itemService) sessionLog(ctx context.Context, in *sessionLogIn) (answer, error) {
	v, err := s.readable(ctx, api.SessionLog, in.Job, fmt.Sprintf("instance %d", in.Instance))
	if err != nil {
		return nil, err
	}
	names, err := s.logs.Sessions(v.ID, in.Instance)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && v.LoadOnce() {
		past, err := s.past(ctx, v.ID)
		if err == nil && !past.LogsRemoved.IsZero() {
			err = errLogsRemoved(fmt.Sprintf("the session log of instance %d.%d", v.ID, in.Instance), past.LogsRemoved)
		}
		if err != nil {
			return nil, err
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		setPlain(w.Header())
		if len(names) == 0 {
			w.Header().Set(api.ElsewhereHeader, "true") // which led before, and does not share this folder
		}
		w.WriteHeader(http.StatusOK)
		for _, name := range names[max(0, len(names)-sessionsMost):] {
			if s.copySession(w, name, streams[in.Stream]) != nil {
				panic(http.ErrAbortHandler) // the reader must not take this for the end of the log
			}
		}
	}, nil
}

// copySession writes the wanted stream of one session's log.
func (s *itemService) copySession(w http.ResponseWriter, name string, want byte) error {
	f, err := s.logs.ReadSession(name)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	demux, buf, control := logstore.Demux{Want: want}, make([]byte, 64<<10), http.NewResponseController(w)
	for {
		n, err := f.Read(buf)
		out, broken := demux.Feed(nil, buf[:n])
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
		if _, failed := w.Write(out); failed != nil {
			return failed
		}
		if err == io.EOF || broken != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the log of a session: %w", err)
		}
	}
}
