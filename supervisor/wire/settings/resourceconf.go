package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/internal/patterns"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// farmClasses are the classes of resources that the whole farm has.
var farmClasses = []string{"license", "global", "license_host", "global_host", "scoped"}

// readResources reads NAME=COUNT pairs. The class of each name must be one of farmClasses.
func readResources(text string) (map[string]int64, error) {
	all := map[string]int64{}
	for _, pair := range facts.SplitList(text) {
		name, amount, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		n, err := strconv.ParseInt(strings.TrimSpace(amount), 10, 64)
		class, short, _ := strings.Cut(name, ".")
		if err != nil || n < 0 || short == "" || !slices.Contains(farmClasses, class) {
			return nil, api.BadSetting("supervisor_global_resources",
				": %q is no count; write license.NAME=NUMBER, or one of another class: %s", pair,
				strings.Join(farmClasses[1:], ", "))
		}
		all[name] = n
	}
	return all, nil
}

func (c Config) checkResources(check func(ok bool, key string, value any, wayOut string),
	between func(key string, d, least, most Duration)) error {
	resources, err := readResources(c.Resources)
	between("supervisor_resource_age", c.ResourceAge, 0, Duration(30*24*time.Hour))
	between("supervisor_resource_wait", c.ResourceWait, Duration(time.Second), Duration(licences.MostWait))
	for _, name := range facts.SplitList(c.ResourcesPerUser) {
		_, known := resources[name]
		check(err != nil || known && agenda.PerHost(name), "supervisor_resources_per_user", strconv.Quote(name),
			"name resources license_host.NAME or global_host.NAME of supervisor_global_resources")
	}
	if err != nil {
		return err
	}
	_, err = c.noLicence(resources)
	return err
}

// noLicence are the signs by which items say that they found none of a resource.
func (c Config) noLicence(resources map[string]int64) (signs []licences.Sign, err error) {
	names := map[string]string{}
	maps.Copy(names, c.NoLicence)
	maps.Copy(names, c.NoLicenceExits)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		sign := licences.Sign{Resource: name, Pattern: c.NoLicence[name]}
		if _, known := resources[name]; !known {
			return nil, api.BadSetting("supervisor_no_licence", ": supervisor_global_resources has no %q", name)
		}
		if _, err := patterns.Compile(sign.Pattern); err != nil {
			return nil, api.BadSetting("supervisor_no_licence", ": the pattern of %s: %v", name, err)
		}
		for _, text := range facts.SplitList(c.NoLicenceExits[name]) {
			code, err := strconv.Atoi(text)
			if err != nil || code < 1 || code > 255 {
				return nil, api.BadSetting("supervisor_no_licence_exits",
					": %s = %q: use exit codes from 1 to 255, separated by commas", name, c.NoLicenceExits[name])
			}
			sign.Exits = append(sign.Exits, code)
		}
		signs = append(signs, sign)
	}
	return signs, nil
}

func (c Config) licencePolicy() licences.Policy {
	resources, _ := readResources(c.Resources) // Validate has read them, and the signs
	signs, _ := c.noLicence(resources)
	return licences.Policy{Signs: signs, Fresh: c.ResourceAge.Std(), Wait: c.ResourceWait.Std(),
		PerUser: facts.SplitList(c.ResourcesPerUser), Hosts: facts.SplitList(c.ResourceHosts)}
}
