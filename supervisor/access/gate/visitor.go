package gate

import (
	"context"

	"qb/supervisor/access/credentials"
)

// Visitor is who sends a request by a door of this process: an entrance with a protocol of its own, by which no
// credential comes.
type Visitor struct {
	Origin string // of the audit trail
	Who    func(context.Context) (credentials.Principal, error)
}

type visitorKey struct{}

// WithVisitor marks a request that this process makes. No request that came by a connection has a visitor.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// VisitorOf is the visitor whose request it is.
func VisitorOf(ctx context.Context) (v Visitor, ok bool) {
	v, ok = ctx.Value(visitorKey{}).(Visitor)
	return v, ok
}
