package output

import (
	"context"
	"io"
)

// WhileRead returns a context that ends when no one reads w any more. Windows does not say that of a pipe before the
// next write to it, so a command that writes seldom learns it then.
func WhileRead(ctx context.Context, _ io.Writer) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
