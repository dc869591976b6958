package term

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"qb/supervisor/store"
)

// TestEndedByCode: the error decides which code an unplanned end has. A planned end, and a wait to lead, have none.
func TestEndedByCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code string
	}{
		{fmt.Errorf("committing 3 writes: %w", store.ErrFull), EndedFull},
		{fmt.Errorf("proving the term: %w", context.DeadlineExceeded), EndedHung},
		{fmt.Errorf("%w: index out of range", ErrPanic), EndedPanic},
		{fmt.Errorf("proving the term: %w", store.ErrTermOver), EndedLost},
		{fmt.Errorf("committing: %w: %w", store.ErrTermOver, context.DeadlineExceeded), EndedHung},
		{errors.Join(errSettled, fmt.Errorf("%w: it hung", store.ErrTermOver)), EndedLost},
		{errors.Join(errSuperseded, nil), EndedSuperseded}, {errors.Join(errPutBack, nil), EndedPutBack},
		{errors.Join(errPutBack, fmt.Errorf("%w: %w", store.ErrTermOver, store.ErrBetterServer)), EndedNewer},
		{fmt.Errorf("proving the term: %w: %w", store.ErrTermOver, store.ErrOlderServer), EndedNewer},
		{store.ErrSuperseded, EndedSuperseded}, {errors.New("odd"), EndedDatabase},
	} {
		var l Leader
		l.noteEnded(7, tc.err)
		if e := l.Ended(); e == nil || e.Code != tc.code || e.Epoch != 7 || e.Text() == "" {
			t.Errorf("%v: %+v, want %s", tc.err, e, tc.code)
		}
	}
	var l Leader
	l.noteEnded(7, errRoom)
	l.noteEnded(7, errors.Join(errSettled, nil))
	l.noteEnded(0, store.ErrFull)
	if e := l.Ended(); e != nil {
		t.Errorf("an end that is none: %+v", e)
	}
}
