package gate

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"qb/api"
	"qb/supervisor/lead/problem"
)

// Foreign refuses what a web page of another origin may have sent to a server of these names: by name, Origin or fetch
// metadata, for every method alike.
func Foreign(r *http.Request, names []string) *problem.Problem {
	forbidden := func(text string) *problem.Problem {
		return problem.New(api.KindForbidden, http.StatusForbidden, text)
	}
	name, scheme := hostName(r.Host), "http"
	if r.TLS != nil {
		scheme = "https"
	}
	own := slices.Contains(names, name) || r.TLS == nil && pageHost().MatchString(name)
	if _, err := netip.ParseAddr(name); !own && (err != nil || r.TLS == nil) { // no page rebinds an address
		return forbidden(
			"the Host header names another host; call the supervisor by its own address, or add the name to supervisor_names")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) || u.Scheme != scheme {
			return forbidden("the request comes from a page of another origin")
		}
	}
	if r.Header.Get("Service-Worker") != "" {
		return forbidden("the farm has no service worker")
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	if followsLink(r) {
		return nil
	}
	return forbidden("the request comes from a page of another site")
}

// followsLink says whether a person followed a link of another site to the page. It holds no data of the farm, and
// there is no cookie that the request could carry.
func followsLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == api.FarmPage.Path && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

func hostName(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
	}
	return strings.ToLower(host)
}
