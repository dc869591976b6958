package supervisor

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"qb/api"
	"qb/supervisor/problem"
)

// allowedHosts are the names in a Host header by which this supervisor may be called: a page that rebinds
// its own name to loopback carries that name.
func allowedHosts(listen string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(listen); err == nil && !slices.Contains(hosts, host) {
		hosts = append(hosts, host)
	}
	return hosts
}

// foreign refuses what a web page of another origin may have sent: by name, Origin or fetch metadata,
// for every method alike.
func (g *gate) foreign(r *http.Request) *problem.Problem {
	forbidden := func(text string) *problem.Problem {
		return problem.New(api.KindForbidden, http.StatusForbidden, text)
	}
	if !slices.Contains(g.hosts, hostName(r.Host)) {
		return forbidden("the Host header names another host; call the supervisor by its own address")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) || u.Scheme != "http" {
			return forbidden("the request comes from a page of another origin")
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	return forbidden("the request comes from a page of another site")
}

func hostName(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
	}
	return strings.ToLower(host)
}
