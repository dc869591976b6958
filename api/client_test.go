package api

import (
	"context"
	"errors"
	"net/url"
	"testing"
)

// A call that is given up may take its connection from under another, which then gets "context canceled" too
// (golang/go#41600; once in some 500 calls beside ones given up at random). Only who gave up reads that he did.
func TestCallsBesideOnesGivenUp(t *testing.T) {
	c, err := NewClient("http://farm:50001", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	told := &url.Error{Op: "Get", URL: "http://farm:50001/healthz", Err: context.Canceled}

	var refusal *Error
	if err := c.unreachable(ctx, told); errors.Is(err, context.Canceled) || !errors.As(err, &refusal) ||
		refusal.Kind != KindUnavailable {
		t.Errorf("a call that was not given up failed with %v", err)
	}
	giveUp()
	if err := c.unreachable(ctx, told); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up failed with %v", err)
	}
}
