package settings

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// OpenJDFiles are the environment templates that jobs of a cluster enter, first those of the clusters above it.
func (c Config) OpenJDFiles(cluster string) (files []string) {
	for _, at := range slices.Sorted(maps.Keys(c.OpenJDTemplates)) { // a cluster is before the ones below it
		if at == "/" || cluster == at || strings.HasPrefix(cluster, at+"/") {
			files = append(files, facts.SplitList(c.OpenJDTemplates[at])...)
		}
	}
	return files
}

func (c Config) checkOpenJD(check func(ok bool, key string, value any, wayOut string)) {
	for cluster, files := range c.OpenJDTemplates {
		check(strings.HasPrefix(cluster, "/"), "supervisor_openjd_environments", strconv.Quote(cluster),
			"begin the cluster with a slash")
		for _, file := range facts.SplitList(files) {
			check(filepath.IsAbs(file), "supervisor_openjd_environments", strconv.Quote(file), "write the file's whole path")
		}
	}
	for name, resource := range c.OpenJDAmounts {
		_, err := fit.Read(facts.JobFacts{Reservations: resource + "=1"}, fit.Site{Lenient: true})
		check(strings.HasPrefix(name, "amount.") && err == nil, "supervisor_openjd_amounts",
			name+" = "+strconv.Quote(resource),
			"write an amount, such as amount.maya, and the resource that is reserved, such as license.maya")
	}
	for name, condition := range c.OpenJDAttributes {
		_, err := fit.Read(facts.JobFacts{Requirements: strings.ReplaceAll(condition, "{}", `"x"`)}, fit.Site{Lenient: true})
		check(strings.HasPrefix(name, "attr.") && strings.Contains(condition, "{}") && err == nil,
			"supervisor_openjd_attributes", name+" = "+strconv.Quote(condition),
			"write an attribute, such as attr.software, and a condition on hosts with {} for the value, such as {} in host.flags")
	}
}
