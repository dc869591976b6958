package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/supervisor/farm"
)

type subOptions struct {
	req      api.SubmitRequest
	tags     *farm.Tags
	priority int
	cpus     int
	maxCPUs  widthValue
	retry    int
	waitFor  string
	flags    string
	env      []string
	reverse  bool
	binary   bool
	waitOn   bool
}

const subLong = `Submit a job. With -range the command runs once for each item, and tokens such as
QB_FRAME_NUMBER in it are replaced; without, it runs -cpus times. One single word that contains
white space is a line for /bin/sh; else the words are the program and its arguments.
The environment of an item has the tokens too: write '$QB_FRAME_NUMBER' in single quotes, for
within double ones your own shell expands it, to nothing, before qbsub sees it.
Prints the job's id.`

const subExample = `  qbsub -priority 5 -cpus 10 -max_cpus 50 -range 1-100 sleep 60
  qbsub -name beauty -cpus 2 -max_cpus "*" -range 1-48 'povray scene.pov +KFF48 +SFQB_FRAME_NUMBER'
  qbsub -dependency link-complete-job-12 -waiton ./make-movie`

func newSubCommand() *cobra.Command {
	var o subOptions
	cmd := &cobra.Command{
		Use: "sub COMMAND…", Short: "Submit a job", Long: subLong, Example: subExample,
		Annotations: map[string]string{commandWords: "yes"},
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.req.Name, "name", "", "`NAME` shown in listings (else the command's first word)")
	f.IntVar(&o.priority, "priority", 0, "`N` 1 is best (else supervisor_default_priority)")
	f.IntVar(&o.cpus, "cpus", 1, "`N` guaranteed instances")
	f.Var(&o.maxCPUs, "max_cpus", "`N` or \"*\": how wide SmartShare may make the job; 0: not at all")
	f.StringVar(&o.req.Cluster, "cluster", "", "`PATH` such as /show/seq")
	f.StringVar(&o.req.Range, "range", "", "`ITEMS` such as 1-100, 1-100x5,200 or labels")
	f.IntVar(&o.req.Chunk, "chunk", 0, "`N` consecutive numbers in each item")
	f.IntVar(&o.req.Partitions, "partitions", 0, "`N` nearly equal items")
	f.BoolVar(&o.reverse, "reverse", false, "last item first")
	f.BoolVar(&o.binary, "binary", false, "first, last, then middles")
	f.IntVar(&o.req.Padding, "padding", 0, "`N` digits of substituted numbers")
	f.StringVar(&o.req.Dependency, "dependency", "", "`LINKS` such as link-complete-job-12,link-done-job-13 or 12,13")
	f.StringVar(&o.waitFor, "waitfor", "", "`JOBS` to wait for, by id")
	f.IntVar(&o.retry, "retrywork", 0, "`N` automatic retries of a failed item")
	f.IntVar(&o.req.TimeLimit, "timelimit", 0, "`SECONDS` after which an instance is ended and its item fails")
	f.IntVar(&o.req.AgendaTimeLimit, "agendatimelimit", 0, "`SECONDS` after which an item is ended and fails")
	f.StringVar(&o.req.Status, "status", "", "`STATE` to begin with: pending or blocked")
	f.BoolVar(&o.waitOn, "waiton", false, "wait for the job's end; exit 0 complete, 1 failed or killed")
	f.StringVar(&o.req.Hosts, "hosts", "", "`A,B` the only hosts allowed")
	f.StringVar(&o.req.OmitHosts, "omithosts", "", "`A,B` hosts not allowed")
	f.StringVar(&o.req.Groups, "groups", "", "`A,B` the only host groups allowed")
	f.StringVar(&o.req.OmitGroups, "omitgroups", "", "`A,B` host groups not allowed")
	f.StringVar(&o.req.Requirements, "requirements", "", "`EXPR` that a host must satisfy")
	f.StringVar(&o.req.Reservations, "reservations", "", "`LIST` that an instance takes, such as host.processors=2")
	f.StringVar(&o.req.Restrictions, "restrictions", "", "`EXPR` of the only clusters allowed, such as '/show/* || /x/+'")
	f.StringVar(&o.req.HostOrder, "hostorder", "", "`LIST` of what to prefer among hosts that fit, such as +host.memory.avail")
	f.StringVar(&o.flags, "flags", "", "`A,B` job flags; export_environment sends your environment along")
	f.StringVar(&o.req.Account, "account", "", "`PATH` of who pays, such as show/shot (fairshare)")
	o.tags = tagFlags(f, "", "`TAG` for reports, as qbstats -by ")
	f.StringVar(&o.req.User, "user", "", "`NAME` to submit for; needs the right to")
	f.StringVar(&o.req.Cwd, "cwd", "", "`DIR` to run in (else the one you are in)")
	f.StringArrayVar(&o.env, "env", nil, "`NAME=VALUE` for the command; may be repeated")
	bindRepeat(cmd)
	return cmd
}

// tagFlags makes an option of each tag.
func tagFlags(f *pflag.FlagSet, prefix, usage string) *farm.Tags {
	var tags farm.Tags
	for n, name := range farm.TagNames {
		f.StringVar(&tags[n], prefix+name, "", usage+name)
	}
	return &tags
}

func (o *subOptions) run(cmd *cobra.Command, words []string) error {
	if err := o.complete(cmd, words); err != nil {
		return err
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	var reply api.SubmitReply
	if err := c.change(cmd.Context(), "", api.Submit, nil, &o.req, &reply); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), reply.Job.ID)
	remark(cmd, reply.Remarks)
	if o.waitOn {
		return waitOn(cmd, c, reply.Job.ID)
	}
	return nil
}

// complete makes the request of options, words and the caller's surroundings.
func (o *subOptions) complete(cmd *cobra.Command, words []string) error {
	if len(words) == 0 || (len(words) == 1 && strings.TrimSpace(words[0]) == "") {
		return api.Errorf(api.KindUsage, "no command given; usage: %s", useLine(cmd))
	}
	req := &o.req
	req.Command = words
	req.Tags = o.tags.Map()
	req.Shell = len(words) == 1 && strings.ContainsFunc(words[0], unicode.IsSpace)
	set := cmd.Flags().Changed
	if set("priority") {
		req.Priority = &o.priority
	}
	if set("cpus") {
		req.CPUs = &o.cpus
	}
	if set("max_cpus") {
		req.MaxCPUs = o.maxCPUs.pointer()
	}
	if set("retrywork") {
		req.RetryWork = &o.retry
	}
	if set("range") && strings.TrimSpace(req.Range) == "" {
		return api.Errorf(api.KindUsage, "-range is empty; write items such as 1-100, or leave it out")
	}
	for _, name := range []string{"dependency", "waitfor"} {
		if links, _ := cmd.Flags().GetString(name); set(name) && strings.TrimSpace(links) == "" {
			return api.Errorf(api.KindUsage, "-%s is empty; name a job, such as 12, or leave it out", name)
		}
	}
	for _, name := range []string{"chunk", "partitions"} {
		if n, _ := cmd.Flags().GetInt(name); set(name) && n < 1 {
			return api.Errorf(api.KindInvalid, "-%s %d: use 1 or more", name, n)
		}
	}
	switch {
	case o.reverse && o.binary:
		return api.Errorf(api.KindUsage, "-reverse and -binary exclude each other")
	case o.reverse:
		req.Order = "reverse"
	case o.binary:
		req.Order = "binary"
	}
	if err := o.addWaitFor(); err != nil {
		return err
	}
	return o.addSurroundings()
}

// addWaitFor turns Qube's older -waitfor into links.
func (o *subOptions) addWaitFor() error {
	for _, id := range fields(o.waitFor) {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
			return api.Errorf(api.KindUsage, "-waitfor %q is no job id", escape(id))
		}
		o.req.Dependency = strings.TrimPrefix(o.req.Dependency+",link-complete-job-"+id, ",")
	}
	return nil
}

// addSurroundings gives the job the caller's folder, umask and, if asked, environment.
func (o *subOptions) addSurroundings() error {
	req := &o.req
	req.Flags = fields(o.flags)
	if req.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return api.Errorf(api.KindUsage, "the current folder has no name (%v); give -cwd DIR", err)
		}
		req.Cwd = dir
	} else if !strings.HasPrefix(req.Cwd, "/") {
		return api.Errorf(api.KindUsage, "-cwd %q is not an absolute path", escape(req.Cwd))
	}
	mask := currentUmask()
	req.Umask = &mask
	env := map[string]string{}
	if slices.Contains(req.Flags, "export_environment") {
		for _, pair := range os.Environ() {
			if name, value, ok := strings.Cut(pair, "="); ok && !slices.Contains([]string{"QB_TOKEN", "QB_DATABASE_URL", submitKey}, name) {
				env[name] = value
			}
		}
	}
	for _, pair := range o.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return api.Errorf(api.KindUsage, "-env %q is not NAME=VALUE", escape(pair))
		}
		env[name] = value
	}
	if len(env) > 0 {
		req.Env = env
	}
	return nil
}

// remark says on standard error what the supervisor changed on the way.
func remark(cmd *cobra.Command, remarks []string) {
	for _, text := range remarks {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.CommandPath(), escape(text))
	}
}

// fields splits a comma list and drops what is empty.
func fields(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// widthValue is the value of -max_cpus: a number, or "*" for as many as the site allows.
type widthValue int

func (w *widthValue) String() string { return strconv.Itoa(int(*w)) }
func (w *widthValue) Type() string   { return "width" }

func (w *widthValue) Set(text string) error {
	if text == "*" {
		*w = -1
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf(`is neither a whole number nor "*"`)
	}
	*w = widthValue(max(n, -1))
	return nil
}

func (w *widthValue) pointer() *int { n := int(*w); return &n }
