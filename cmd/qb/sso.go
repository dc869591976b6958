package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/pause"
)

const (
	ssoAnswer   = 30 * time.Second // of the supervisor, who asks the provider meanwhile
	ssoSlowDown = 5 * time.Second  // RFC 8628
)

// singleSignOn logs in by the farm's provider: it shows where the person enters which code, and waits.
func singleSignOn(cmd *cobra.Command, farm sender, req api.LoginRequest) (*api.TokenReply, error) {
	var begun api.SSOBegun
	if err := askProvider(cmd.Context(), farm, api.BeginSSO, nil, &begun); err != nil {
		return nil, err
	}
	url := begun.FullURL
	if url == "" {
		url = begun.URL
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "open %s in a browser, on any machine, and log in\nthe code is %s; waiting until %s\n",
		output.Escape(url), output.Escape(begun.UserCode), output.Moment(&begun.ExpiresAt))
	ctx, cancel := context.WithDeadline(cmd.Context(), begun.ExpiresAt)
	defer cancel()
	wait := max(time.Duration(begun.IntervalSeconds)*time.Second, time.Second)
	for {
		if pause.For(ctx, wait) != nil {
			if cmd.Context().Err() != nil {
				return nil, cmd.Context().Err()
			}
			return nil, api.Errorf(api.KindUnauthorized, "nobody logged in at the provider in time; run qb login again")
		}
		var reply api.SSOReply
		err := askProvider(ctx, farm, api.FinishSSO, api.SSORequest{DeviceCode: begun.DeviceCode, Name: req.Name,
			Days: req.Days}, &reply)
		switch {
		case api.Refusal(err).Kind == api.KindLimit:
			wait += ssoSlowDown
		case err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, err
		case err != nil: // printed above
		case reply.Token != nil:
			return reply.Token, nil
		case reply.SlowDown:
			wait += ssoSlowDown
		}
	}
}

// askProvider makes a call that takes longer than others, as the provider is asked meanwhile.
func askProvider(ctx context.Context, farm sender, e api.Endpoint, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, ssoAnswer)
	defer cancel()
	return farm.Send(ctx, e, nil, in, out)
}
