package serve

import (
	"context"
	"slices"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/translate"
)

// jsonOf is an answer in JSON.
type jsonOf[T any] struct{ Body T }

// listed answers with rows as shape shows each, or with the error of reading them.
func listed[Row, T any](rows []Row, err error, shape func(Row) T) (*jsonOf[[]T], error) {
	if err != nil {
		return nil, err
	}
	return &jsonOf[[]T]{translate.Each(rows, shape)}, nil
}

// before is what the audit trail shows of the row that a change is of, nil if there is none.
func before[Row, T any](rows []Row, shape func(Row) T, is func(Row) bool) any {
	if n := slices.IndexFunc(rows, is); n >= 0 {
		return shape(rows[n])
	}
	return nil
}

// keyed is a change under a key of its caller.
type keyed[T any] struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body T
}

// changed asks the farm for a change of its accounts, once for each key, and answers with what it made as shape shows
// that.
func changed[Made, T any](ctx context.Context, s *backend, e api.Endpoint, key string, in any, change accounting.Change,
	shape func(Made) T) (*jsonOf[T], error) {
	return asked(ctx, s, e, key, in, shape, func(t outbox.Ticket, by string) message.Event {
		return message.AccountsChanged{Ticket: t, By: by, Change: change}
	})
}

// asked sends an event to the farm, once for each idempotency key; shape turns the farm's reply into the answer.
func asked[Made, T any](ctx context.Context, s *backend, e api.Endpoint, key string, in any, shape func(Made) T,
	event func(t outbox.Ticket, by string) message.Event) (*jsonOf[T], error) {
	shown := func(made any) *jsonOf[T] { return &jsonOf[T]{shape(made.(Made))} }
	return once(ctx, s, e, key, in, shown, func(c term.Call) (any, error) {
		return c.Ask(ctx, func(t outbox.Ticket) message.Event { return event(t, gate.PrincipalOf(ctx).User) })
	})
}
