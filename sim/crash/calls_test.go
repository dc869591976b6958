package crash

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/store/postgres"
)

func jobParam(job int64) api.Params { return api.Params{"job": strconv.FormatInt(job, 10)} }

func unavailable(err error) bool { return isKind(err, api.KindUnavailable) }

func isKind(err error, kind api.Kind) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Kind == kind
}

// problemText says what an audit found, and of which item.
func problemText(p postgres.Problem) string {
	place := fmt.Sprintf("job %d", p.Job)
	if p.Item != nil {
		place += fmt.Sprintf(", item number %d", *p.Item)
	}
	return place + ": " + p.Text + " (" + p.Kind + ")"
}

// sleep waits, or returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
