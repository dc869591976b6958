package worker

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/worker/settings"
	"qb/worker/shim"
)

// joinFor bounds a join, all addresses together.
const joinFor = 30 * time.Second

// Join makes the state folder that of a host of the farm at these addresses: a supervisor that shows a certificate of
// the CA in the token gets the token and the public key of the folder, and gives a token of the host's own. From then
// on the folder knows the farm. If it fails, the folder is as it was.
func Join(ctx context.Context, config settings.Config, token string, trusted ...uint32) error {
	config, err := config.Settled(cores())
	if err != nil {
		return err
	}
	_, fingerprint := pin.Cut(token)
	var set *pin.Set
	if fingerprint != "" {
		if err := pin.Check(fingerprint); err != nil {
			return api.Errorf(api.KindUsage, "the token: %v", err)
		}
		set = pin.NewSet([]string{fingerprint}, nil)
	}
	for _, address := range config.Supervisor {
		if u, err := url.Parse(address); err != nil || !strings.EqualFold(u.Scheme, "https") || u.Host == "" {
			return api.Errorf(api.KindUsage, "-join %q: write https://HOST:PORT, as qbadmin worker token prints it", address)
		}
	}
	state, err := openState(config.State)
	if err != nil {
		return err
	}
	defer state.close()
	private, err := state.key()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, joinFor)
	defer cancel()
	var failed error
	for _, address := range config.Supervisor {
		c, err := api.NewClientTo(address, token, set, trusted...)
		if err != nil {
			return err
		}
		reply, err := state.enrolWith(ctx, c, private, config.Name)
		c.CloseIdle()
		var refusal *api.Error
		if errors.As(err, &refusal) && refusal.Kind == api.KindUnauthorized {
			return api.Errorf(api.KindUnauthorized,
				"joining %s: %v; for a worker: qbadmin worker token, which prints a new line", address, err)
		}
		if err != nil && (!errors.As(err, &refusal) || refusal.Kind != api.KindUnavailable) {
			return err
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		own := ownToken{Token: reply.Token, RenewAt: time.Now().Add(time.Until(reply.ExpiresAt) / 2),
			Supervisor: config.Supervisor}
		if set != nil {
			own.Pins = set.Pins()
		}
		return shim.ReplaceSealed(filepath.Join(state.root, "token"), own, true)
	}
	return failed
}

// Joined are the addresses of the farm that the state folder has joined; none if it has joined none.
func Joined(state string) []string {
	return (&stateFolder{root: state}).token().Supervisor
}
