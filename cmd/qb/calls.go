package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

// sender makes calls for what changes nothing, or what may be done twice.
type sender interface {
	Send(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error
}

// call makes a call and returns the reply.
func call[Reply any](ctx context.Context, farm sender, e api.Endpoint, params api.Params,
	in any) (reply Reply, err error) {
	err = farm.Send(ctx, e, params, in, &reply)
	return reply, err
}

// sayChange asks for a change to what the word names, and prints what text says of the reply.
func sayChange[Reply any](cmd *cobra.Command, word string, e api.Endpoint, params api.Params, in any,
	text func(Reply) string) error {
	var reply Reply
	if err := connect(cmd).Change(cmd.Context(), word, e, params, in, &reply); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text(reply))
	return err
}

// forEachWord sends a request for each word, as a parameter of the path, and prints what was done.
func forEachWord(cmd *cobra.Command, words []string, e api.Endpoint, param, done string) error {
	farm := connect(cmd)
	for _, word := range words {
		if err := farm.Send(cmd.Context(), e, api.Params{param: word}, nil, nil); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", output.Escape(word), done)
	}
	return nil
}
