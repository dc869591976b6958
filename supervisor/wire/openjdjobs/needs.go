package openjdjobs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"qb/api"
	"qb/internal/units"
	"qb/openjd"
	"qb/supervisor/lead/problem"
)

// The settings that map what a step needs to what qb knows of hosts.
const (
	AmountsSetting      = "supervisor_openjd_amounts"
	AttributesSetting   = "supervisor_openjd_attributes"
	EnvironmentsSetting = "supervisor_openjd_environments"
)

// reservations are the amounts that every farm reserves, with their unit.
var reservations = map[string]string{
	"amount.worker.vcpu": "host.processors=%s", "amount.worker.memory": "host.memory=%sMiB",
	"amount.worker.gpu": "host.gpus=%s",
}

// conditions are the attributes that every farm has as conditions on hosts, with their values. A session runs on Linux.
var conditions = map[string]map[string]string{
	"attr.worker.os.family": {"linux": "host.os = linux"},
	"attr.worker.cpu.arch":  {"x86_64": "host.architecture = x86_64", "arm64": "host.architecture = aarch64"},
}

// needs adds reservations and requirements of what a step needs of a host.
func (j *Job) needs(s *openjd.Step, r *api.SubmitRequest) error {
	reserved := []string{}
	for _, a := range s.Amounts {
		form, known := reservations[a.Name]
		if resource := j.site.Amounts[a.Name]; resource != "" {
			form, known = resource+"=%s", true
		}
		if !known {
			return problem.Invalid("template",
				"step %q needs %s, and this farm has no such amount; an admin adds it to %s, or leave it out", s.Name, a.Name,
				AmountsSetting)
		}
		if a.Max != nil {
			j.remark("step %s: the max of %s is left out; its min is reserved", s.Name, a.Name)
		}
		if a.Min != nil && *a.Min > 0 {
			reserved = append(reserved, fmt.Sprintf(form, wholeUp(*a.Min)))
		}
	}
	required := []string{}
	for _, a := range s.Attributes {
		if len(a.AnyOf) > 0 {
			any, err := j.fitting(s, a.Name, a.AnyOf)
			if err != nil {
				return err
			}
			required = append(required, "("+strings.Join(any, " or ")+")")
		}
		for _, value := range a.AllOf {
			all, err := j.fitting(s, a.Name, []string{value})
			if err != nil {
				return err
			}
			required = append(required, all...)
		}
	}
	if r.Reservations != "" {
		reserved = append(reserved, r.Reservations)
	}
	if r.Requirements != "" {
		required = append(required, "("+r.Requirements+")")
	}
	r.Reservations = strings.Join(reserved, ",")
	r.Requirements = strings.Join(required, " and ")
	return nil
}

// fitting are the conditions of the values of an attribute that a host of the farm may have.
func (j *Job) fitting(s *openjd.Step, name string, values []string) ([]string, error) {
	form := j.site.Attributes[name]
	if form == "" && conditions[name] == nil {
		return nil, problem.Invalid("template",
			"step %q needs %s, and this farm has no such attribute; an admin adds it to %s, or leave it out", s.Name, name,
			AttributesSetting)
	}
	var fit []string
	for _, value := range values {
		condition := conditions[name][strings.ToLower(value)]
		if form != "" {
			condition = strings.ReplaceAll(form, "{}", strconv.Quote(value))
		}
		if condition != "" {
			fit = append(fit, condition)
		}
	}
	if len(fit) == 0 {
		return nil, problem.Invalid("template", "step %q needs %s %s, which no host of qb has; there are linux, x86_64 and arm64",
			s.Name, name, units.Few(values))
	}
	return fit, nil
}

// wholeUp is a number rounded up, in digits.
func wholeUp(n float64) string { return strconv.FormatFloat(math.Ceil(n), 'f', -1, 64) }
