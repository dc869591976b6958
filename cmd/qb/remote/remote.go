package remote

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// Sender makes calls for what changes nothing, or what may be done twice.
type Sender interface {
	Send(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error
}

// Farm is the supervisor, as commands call it.
type Farm interface {
	Sender
	// Change asks for a change to what the word names. It happens once, however often it is repeated.
	Change(ctx context.Context, word string, e api.Endpoint, params api.Params, in, out any) error
}

// Shell is what commands get of the program that they belong to.
type Shell struct {
	Connect    func(*cobra.Command) Farm
	Dial       func(cmd *cobra.Command, url, token string) (Sender, error) // to a certain supervisor
	BindRepeat func(*cobra.Command)                                        // options of a command that changes something
}

// Send connects and makes a call.
func (s Shell) Send(cmd *cobra.Command, e api.Endpoint, params api.Params, in, out any) error {
	return s.Connect(cmd).Send(cmd.Context(), e, params, in, out)
}

// Ask makes a call and returns the reply.
func Ask[Reply any](ctx context.Context, farm Sender, e api.Endpoint, params api.Params, in any) (reply Reply, err error) {
	err = farm.Send(ctx, e, params, in, &reply)
	return reply, err
}

// Say asks for a change to what the word names, and prints what text says of the reply.
func Say[Reply any](s Shell, cmd *cobra.Command, word string, e api.Endpoint, params api.Params, in any, text func(Reply) string) error {
	var reply Reply
	if err := s.Connect(cmd).Change(cmd.Context(), word, e, params, in, &reply); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text(reply))
	return err
}

// ForEach sends a request for each word, which stands in the path as the parameter, and says what was done.
func (s Shell) ForEach(cmd *cobra.Command, words []string, e api.Endpoint, param, done string) error {
	farm := s.Connect(cmd)
	for _, word := range words {
		if err := farm.Send(cmd.Context(), e, api.Params{param: word}, nil, nil); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", output.Escape(word), done)
	}
	return nil
}

// List prints the rows of an endpoint; none says what there is none of.
func List[Row any](s Shell, cmd *cobra.Command, none string, o output.ListOptions, columns []output.Column[Row], e api.Endpoint, params api.Params) error {
	return output.Print(cmd, none, o, columns, func() ([]Row, error) {
		return Ask[[]Row](cmd.Context(), s.Connect(cmd), e, params, nil)
	})
}

// Listing is a command that prints all rows of an endpoint; none says what there is none of.
func Listing[Row any](s Shell, use, short, none string, columns []output.Column[Row], e api.Endpoint) *cobra.Command {
	var o output.ListOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return List(s, cmd, none, o, columns, e, nil) },
	}
	o.Bind(cmd.Flags())
	return cmd
}
