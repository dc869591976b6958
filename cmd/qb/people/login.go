package people

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/api/pin"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
	"qb/statedir"
	"qb/units"
)

// maxCode is the longest line that may be a code.
const maxCode = 1000

// LoginCommand is qb login.
func (s Shell) LoginCommand() *cobra.Command {
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
				return remote.List(s.Shell, cmd, "you have no tokens of logins here", o, tokenColumns, api.OwnTokens, nil)
			case revoke != "" && len(words) == 0 && !list:
				return s.ForEach(cmd, []string{revoke}, api.RevokeOwn, "token", "revoked")
			case len(words) == 1 && !list && revoke == "":
				return s.logIn(cmd, words[0], fingerprint, req)
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

var tokenColumns = []output.Column[api.TokenInfo]{
	{Name: "id"},
	{Name: "name"},
	{Name: "role"},
	{Name: "state", Text: TokenState},
	{Name: "created_at"},
	{Name: "expires_at"},
	{Name: "last_used_at"},
	{Name: "user", Extra: true},
	{Name: "session_of", Extra: true},
}

// TokenState is what a token is good for, in a word or two.
func TokenState(t api.TokenInfo) string {
	switch {
	case t.Revoked:
		return "revoked"
	case time.Now().After(t.ExpiresAt):
		return "expired"
	case t.UsesLeft != nil && *t.UsesLeft == 0:
		return "used up"
	case t.UsesLeft != nil:
		return fmt.Sprintf("good for %d", *t.UsesLeft)
	}
	return "good"
}

// logIn gets a token, by a code or by single sign-on, and stores it.
func (s Shell) logIn(cmd *cobra.Command, url, fingerprint string, req api.LoginRequest) error {
	if req.Name == "" {
		req.Name = ownName()
	}
	before, err := Load()
	if err != nil {
		return err
	}
	code, err := readCode(cmd)
	if err != nil {
		return err
	}
	if code == "" {
		code = pin.Join("", fingerprint) // no secret, but whom to trust
	}
	farm, err := s.Dial(cmd, url, code)
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
	file, err := Saved{URL: url, Token: made.Token}.save()
	if err != nil {
		return fmt.Errorf("logged in, but the token %s is lost; revoke it with qbadmin token revoke: %w", made.ID, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s as %s (%s) until %s; stored in %s\n", output.Escape(url), output.Escape(made.User), made.Role,
		output.Moment(&made.ExpiresAt), output.Escape(file))
	if before != nil {
		if err := s.revoke(cmd, *before); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "the token of the login before is not revoked: %v\n", err)
		}
	}
	return nil
}

// readCode reads a line from the terminal or another program, "" for single sign-on; a code among the arguments would be in
// the list of processes.
func readCode(cmd *cobra.Command) (string, error) {
	if in, ok := cmd.InOrStdin().(*os.File); ok && output.IsTerminal(in) {
		fmt.Fprint(cmd.ErrOrStderr(), "code of the invitation, or Enter for single sign-on: ")
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), maxCode)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("reading the code: %w", err)
	}
	code := strings.TrimSpace(line)
	if code != "" && !strings.HasPrefix(code, "qb_") {
		return "", api.Errorf(api.KindUsage, "that is no code; paste the line that begins with qb_, which qbadmin user invite printed below the command, or an empty line for single sign-on")
	}
	return code, nil
}

// ownName is USER@HOST.
func ownName() string {
	host := "somewhere"
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	text := statedir.OwnName() + "@" + host
	return text[:min(len(text), 100)]
}

// revoke ends the token of a login. One that has ended already is no error.
func (s Shell) revoke(cmd *cobra.Command, saved Saved) error {
	parts := strings.SplitN(saved.Token, "_", 4)
	if len(parts) != 4 {
		return nil
	}
	farm, err := s.Dial(cmd, saved.URL, saved.Token)
	if err != nil {
		return err
	}
	err = farm.Send(cmd.Context(), api.RevokeOwn, api.Params{"token": parts[2]}, nil, nil)
	if api.Refusal(err).Kind == api.KindUnauthorized {
		return nil
	}
	return err
}

// LogoutCommand is qb logout.
func (s Shell) LogoutCommand() *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use: "logout", Short: "Revoke the token of the last login and remove it from this machine", Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			saved, err := Load()
			if err != nil {
				return err
			}
			if saved == nil {
				return api.Errorf(api.KindConflict, "you are not logged in here: there is no login.json in your configuration folder")
			}
			if !local {
				if err := s.revoke(cmd, *saved); err != nil {
					return api.Errorf(api.Refusal(err).Kind, "the token is not revoked and stays here: %v\ntry again, or remove it from this machine alone with qb logout -local", err)
				}
			}
			if err := forget(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "logged out of %s\n", output.Escape(saved.URL))
			return err
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "only remove the token from this machine; it remains valid until it expires")
	return cmd
}

// newInvite is qbadmin user invite.
func (s Shell) newInvite() *cobra.Command {
	ttl := time.Hour
	cmd := &cobra.Command{
		Use: "invite NAME", Short: "Print the line and the code by which a user logs in from another machine, once", Args: commandline.WantArgs(1, 1, "user"),
		Example: "  qbadmin user invite ada -ttl 2h",
		RunE: func(cmd *cobra.Command, words []string) error {
			farm := s.Connect(cmd)
			url, err := served(cmd, farm)
			if err != nil {
				return err
			}
			if url == "" {
				return api.Errorf(api.KindConflict, "%s", loopbackOnly)
			}
			return invited(cmd, farm, url, words[0], ttl)
		},
	}
	cmd.Flags().Var((*units.Span)(&ttl), "ttl", "`DURATION` for which the code works, at most 7d")
	return cmd
}

const loopbackOnly = "no line for other machines: the supervisor listens on its own machine only; set supervisor_listen, such as 0.0.0.0:50001, and start it again. Users of this machine need no login"

// served is the address for other machines, "" if there is none.
func served(cmd *cobra.Command, farm remote.Sender) (string, error) {
	ping, err := remote.Ask[api.Ping](cmd.Context(), farm, api.PingFarm, nil, nil)
	if err != nil || !strings.HasPrefix(ping.LeaderURL, "https:") {
		return "", err
	}
	return ping.LeaderURL, nil
}

// invited prints what a user types and pastes.
func invited(cmd *cobra.Command, farm remote.Sender, url, name string, ttl time.Duration) error {
	if ttl < time.Second || ttl > 7*24*time.Hour {
		return api.Errorf(api.KindUsage, "-ttl %s: use 1s to 7d, such as 1h", ttl)
	}
	code, err := remote.Ask[api.TokenReply](cmd.Context(), farm, api.Invite, api.Params{"user": name}, api.InviteRequest{TTLSeconds: int(ttl.Seconds())})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "qb login %s\n%s\n", output.Escape(url), code.Token)
	fmt.Fprintf(cmd.ErrOrStderr(), "%s runs the first line on the other machine and pastes the second, which works once, until %s\n",
		output.Escape(name), output.Moment(&code.ExpiresAt))
	return nil
}
