package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/api/pin"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
	"qb/internal/units"
)

// A login never prints its token, nor sends it to another address than its own farm's.

// maxLoginCode is the longest line that may be a code.
const maxLoginCode = 1000

// newLoginCommand is qb login.
func newLoginCommand() *cobra.Command {
	var req api.LoginRequest
	var o output.ListOptions
	var list bool
	var revoke, fingerprint string
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Log in to a farm from a workstation by single sign-on or the code of an invitation; list and revoke own tokens", Args: commandline.WantArgs(0, 1, ""),
		Long: "Log in to a farm from a workstation. The code of qbadmin user invite is read from standard input, works once, and is\n" +
			"exchanged for a token. An empty line instead of a code begins a login by single sign-on, if the farm has that: open the\n" +
			"address that is shown, in a browser on any machine. Token and URL are stored in ~/.config/qb/login.json (mode 0600); all\n" +
			"commands then find the farm without options. QB_SUPERVISOR, client_supervisor, -supervisor and QB_STATE override it.",
		Example: "  qb login https://farm:50001\n  qb login https://farm:50001 -fingerprint 8bIu…\n  qb login -list\n  qb login -revoke 0123456789abcdef",
		RunE: func(cmd *cobra.Command, words []string) error {
			switch {
			case list && len(words) == 0 && revoke == "":
				return listRows(cmd, "you have no tokens of logins here", o, ownTokenColumns, api.OwnTokens, nil)
			case revoke != "" && len(words) == 0 && !list:
				return forEachWord(cmd, []string{revoke}, api.RevokeOwn, "token", "revoked")
			case len(words) == 1 && !list && revoke == "":
				return logIn(cmd, words[0], fingerprint, req)
			}
			return api.Errorf(api.KindUsage, "give the URL of the farm, such as https://farm:50001, or -list, or -revoke ID")
		},
	}
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` of the token in lists (default: USER@HOST)")
	cmd.Flags().Var((*units.Days)(&req.Days), "days", "`DURATION` until the token expires, in whole days: 30 (days) or 30d (default 90)")
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "", "for single sign-on: `FINGERPRINT` of the farm's CA, which qb ca show prints, unless this machine trusts the farm's certificate; a code carries it")
	cmd.Flags().BoolVar(&list, "list", false, "list your tokens")
	cmd.Flags().StringVar(&revoke, "revoke", "", "revoke your token `ID`")
	o.Bind(cmd.Flags())
	return cmd
}

var ownTokenColumns = []output.Column[api.TokenInfo]{
	{Name: "id"},
	{Name: "name"},
	{Name: "role"},
	{Name: "state", Text: tokenState},
	{Name: "created_at"},
	{Name: "expires_at"},
	{Name: "last_used_at"},
	{Name: "user", Extra: true},
	{Name: "session_of", Extra: true},
}

// logIn gets a token, by a code or by single sign-on, and stores it.
func logIn(cmd *cobra.Command, url, fingerprint string, req api.LoginRequest) error {
	if req.Name == "" {
		req.Name = ownTokenName()
	}
	before, err := find.ReadLogin()
	if err != nil {
		return err
	}
	code, err := readLoginCode(cmd)
	if err != nil {
		return err
	}
	if code == "" {
		code = pin.Join("", fingerprint) // no secret, but whom to trust
	}
	farm, err := dial(cmd, url, code)
	if err != nil {
		return err
	}
	made := new(api.TokenReply)
	if secret, _ := pin.Cut(code); secret == "" {
		made, err = singleSignOn(cmd, farm, req)
	} else {
		err = farm.Send(cmd.Context(), api.Login, nil, req, made)
	}
	if err != nil {
		return err
	}
	file, err := find.Login{URL: url, Token: made.Token}.Save()
	if err != nil {
		return fmt.Errorf("logged in, but the token %s is lost; revoke it with qbadmin token revoke: %w", made.ID, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s as %s (%s) until %s; stored in %s\n", output.Escape(url),
		output.Escape(made.User), made.Role,
		output.Moment(&made.ExpiresAt), output.Escape(file))
	if before != nil {
		if err := revokeLogin(cmd, *before); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "the token of the login before is not revoked: %v\n", err)
		}
	}
	return nil
}

// readLoginCode reads a line from the terminal or another program, "" for single sign-on; a code among the arguments
// would be in the list of processes.
func readLoginCode(cmd *cobra.Command) (string, error) {
	if in, ok := cmd.InOrStdin().(*os.File); ok && output.IsTerminal(in) {
		fmt.Fprint(cmd.ErrOrStderr(), "code of the invitation, or Enter for single sign-on: ")
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), maxLoginCode)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("reading the code: %w", err)
	}
	code := strings.TrimSpace(line)
	if code != "" && !strings.HasPrefix(code, "qb_") {
		return "", api.Errorf(api.KindUsage,
			"the line is no code; paste the line that begins with qb_, which qbadmin user invite printed below the command, or an empty line for single sign-on")
	}
	return code, nil
}

// ownTokenName is USER@HOST.
func ownTokenName() string {
	host := "somewhere"
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	text := statedir.OwnName() + "@" + host
	return text[:min(len(text), 100)]
}
