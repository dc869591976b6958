package settings

import (
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"qb/supervisor/job/facts"
)

// platforms are those whose paths supervisor_flamenco_storage may name, as the Flamenco add-on writes them.
const platforms = "linux, windows, darwin"

// DoorNetworks are the networks besides loopback from which doors take requests.
func (c Config) DoorNetworks() (networks []netip.Prefix) {
	for _, name := range facts.SplitList(c.DoorHosts) {
		if p, ok := network(name); ok { // Validate has refused others
			networks = append(networks, p)
		}
	}
	return networks
}

// network reads an address or a network. One of zero bits is everybody, whom no site means to name.
func network(name string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(name); err == nil {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), true
	}
	p, err := netip.ParsePrefix(name)
	return p.Masked(), err == nil && p.Bits() > 0
}

// checkDoors refuses doors without a use, and doors that would be open to more hosts than the site has named.
func checkDoors(c *Config, check func(ok bool, key string, value any, wayOut string)) {
	for _, name := range facts.SplitList(c.DoorHosts) {
		_, ok := network(name)
		check(ok, "supervisor_door_hosts", strconv.Quote(name),
			"write an address or a network, such as 10.1.0.7 or 10.1.0.0/16")
	}
	for platform, folder := range c.FlamencoStorage {
		check(strings.Contains(", "+platforms+",", ", "+platform+","), "supervisor_flamenco_storage",
			strconv.Quote(platform), "name the platforms "+platforms)
		ok := platform == "linux" && path.IsAbs(folder) && path.Clean(folder) != "/" || platform != "linux" && folder != ""
		check(ok, "supervisor_flamenco_storage", platform+" = "+strconv.Quote(folder), "write the folder's whole path")
	}
	check(c.BundleInbox == "" || filepath.IsAbs(c.BundleInbox), "supervisor_bundle_inbox", strconv.Quote(c.BundleInbox),
		"write the folder's whole path")
	check(c.BundleInbox == "" || c.BundleUsers != "", "supervisor_bundle_users", `""`,
		"name the users whose bundles are submitted")
	if c.FlamencoListen == "" {
		return
	}
	host, port, err := net.SplitHostPort(c.FlamencoListen)
	ip, ipErr := netip.ParseAddr(host)
	check(err == nil && port != "" && (ipErr == nil || host == "localhost"), "supervisor_flamenco_listen",
		strconv.Quote(c.FlamencoListen), "write ADDRESS:PORT, such as 127.0.0.1:8080")
	check(host == "localhost" || ipErr == nil && ip.IsLoopback() || c.DoorHosts != "", "supervisor_flamenco_listen",
		strconv.Quote(c.FlamencoListen), "listen on loopback, or name the artists' networks in supervisor_door_hosts")
	check(c.FlamencoOwner != "", "supervisor_flamenco_owner", `""`, "name the user as whom the add-on submits")
	check(c.FlamencoStorage["linux"] != "", "supervisor_flamenco_storage", c.FlamencoStorage["linux"],
		`name the folder of the scenes, as {"linux" = "/mnt/jobs"}`)
}
