package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/output"
	"qb/internal/pathmap"
	"qb/supervisor/job/facts"
)

type subOptions struct {
	req     api.SubmitRequest
	waitFor string
	env     []string

	parameters []string // of a job type

	reverse bool
	binary  bool
	waitOn  bool
	try     bool
	results output.Results
	mail    bool
	archive struct{ from, to string } // files
}

const subLong = `Submit a job and print its id. With -range the command runs once for each item, and tokens such
as QB_FRAME_NUMBER in it are replaced. Without -range it runs -cpus times. A single word that
contains white space is a command line for /bin/sh; otherwise the words are the program and its
arguments. The tokens are also environment variables of the item: write '$QB_FRAME_NUMBER' in
single quotes. Within double quotes your own shell expands it, to nothing, before qbsub sees it.`

const subExample = `  qbsub -priority 5 -cpus 10 -max_cpus 50 -range 1-100 sleep 60
  qbsub -name beauty -cpus 2 -max_cpus "*" -range 1-48 'povray scene.pov +KFF48 +SFQB_FRAME_NUMBER'
  qbsub -dependency link-complete-job-12 -waiton ./make-movie`

func newSubCommand() *cobra.Command {
	var o subOptions
	cmd := &cobra.Command{
		Use: "sub COMMAND…", Short: "Submit a job", Long: subLong, Example: subExample,
		Annotations: map[string]string{commandline.CommandWords: "yes"},
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		attributeOption(submitOption).bind(f, a)
		o.bindBeside(f, a.Name)
	}
	f.StringVar(&o.archive.to, "export", "", "write the job to `FILE` as JSON instead of submitting it")
	f.StringVar(&o.archive.from, "import", "", "submit the job of `FILE`, as -export and qbarchive write it, or an XML archive of Qube's (.xja); other options and words override it")
	for _, w := range otherWords {
		f.String(w.option, "", w.help)
	}
	commandline.Once(f, "frames")
	o.results.Bind(f)
	bindRepeat(cmd)
	return cmd
}

// otherWords are options of Qube's that say what other options say.
var otherWords = []struct{ option, of, begin, help string }{
	{"frames", "range", "", "the same as -range `ITEMS`"},
	{"state", "status", "", "the same as -status `STATE`"},
	{"processors", "reservations", "host.processors=", "an instance takes `N` slots, as -reservations host.processors=N"},
}

// giveOtherWords gives what they say to the other options. Reservations add up, the others exclude each other.
func giveOtherWords(f *pflag.FlagSet) error {
	for _, w := range otherWords {
		if !f.Changed(w.option) {
			continue
		}
		text := w.begin + f.Lookup(w.option).Value.String()
		if f.Changed(w.of) {
			if w.begin == "" {
				return api.Errorf(api.KindUsage, "-%s is another word for -%s; give one of them", w.option, w.of)
			}
			text = f.Lookup(w.of).Value.String() + "," + text
		}
		if err := f.Set(w.of, text); err != nil {
			return err
		}
	}
	return nil
}

// bindBeside makes the options that stand in the help below that of an attribute.
func (o *subOptions) bindBeside(f *pflag.FlagSet, attribute string) {
	switch attribute {
	case "partitions":
		f.BoolVar(&o.reverse, "reverse", false, "start with the last item")
		f.BoolVar(&o.binary, "binary", false, "start with the first and last item, then the middle ones")
	case "dependency":
		f.StringVar(&o.waitFor, "waitfor", "", "wait until `JOBS`, a list of ids, have ended: complete, failed or killed")
		commandline.Once(f, "waitfor")
	case "agendatimelimit":
		f.StringVar(&o.req.Status, "status", "", "initial `STATE`: pending or blocked")
		f.BoolVar(&o.try, "whatif", false,
			"do not submit: print which jobs would gain and lose instances, what would stop, and when the job would start")
		f.BoolVar(&o.waitOn, "waiton", false, "wait until the job ends; exit with 0 if complete, 1 if failed or killed")
	case "type":
		f.StringArrayVar(&o.parameters, "param", nil,
			"give a parameter of the job type its value, `NAME=VALUE`; may be repeated")
	case "mailaddress":
		f.BoolVar(&o.mail, "mail", false, "mail when the job has ended, as -flags mail")
	case "cwd":
		f.StringVar(&o.req.User, "user", "", "submit for user `NAME`; operators and admins only")
		f.StringArrayVar(&o.env, "env", nil, "set environment variable `NAME=VALUE`, or NAME to the value that it has here; may be repeated")
	}
}

func (o *subOptions) run(cmd *cobra.Command, words []string) error {
	if name := typeOfFarm(cmd); name != "" {
		return cmp.Or(o.results.Check(), o.runType(cmd, name, words))
	}
	if len(o.parameters) > 0 {
		return api.Errorf(api.KindUsage, "-param is for parameters of a job type; give one by -type (qb type list)")
	}
	if err := cmp.Or(o.complete(cmd, words), o.results.Check()); err != nil {
		return err
	}
	if o.archive.to != "" {
		if width := o.req.MaxCPUs; width != nil && *width < facts.NoLimit {
			remark(cmd, []string{"max_cpus " + facts.NoLimitRemark(*width)})
		}
		return writeArchive(o.archive.to, api.JobArchive{Submission: o.req})
	}
	c := connect(cmd)
	if o.try {
		reply, err := call[api.TrialReply](cmd.Context(), c, api.TrySubmission, nil, &o.req)
		if err != nil {
			return err
		}
		remark(cmd, append(reply.Submission.Remarks, behind(cmd, words)...))
		return printWhatIf(cmd.OutOrStdout(), o.results.List(), reply, &reply.WhatIfReply, &reply.Submission)
	}
	var reply api.SubmitReply
	if err := c.Change(cmd.Context(), "", api.Submit, nil, &o.req, &reply); err != nil {
		return err
	}
	var done error
	jobs := append(slices.Clone(reply.Before), reply.Job)
	for _, job := range jobs {
		done = cmp.Or(done, o.results.Add(cmd.OutOrStdout(), output.Result{Job: job, Action: "submit", Affected: 1},
			fmt.Sprint(job)))
	}
	if done = o.results.Flush(cmd.OutOrStdout(), done); done != nil {
		return done
	}
	remark(cmd, append(reply.Remarks, behind(cmd, words)...))
	if o.waitOn {
		return waitOn(cmd, c, reply.Job)
	}
	return nil
}

// behind are remarks on options of qbsub that come after the command, which gets them. After a -- before the command,
// or if the option is given before it as well, it is meant so.
func behind(cmd *cobra.Command, words []string) (remarks []string) {
	if len(words) < 2 || afterDashes(cmd, words) {
		return nil
	}
	var found []string
	for _, word := range words[1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		option := cmd.Flags().Lookup(name)
		if !strings.HasPrefix(word, "-") || len(name) < 3 || option == nil || option.Changed ||
			slices.Contains(found, "-"+name) {
			continue
		}
		found = append(found, "-"+name)
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) == 1:
		return []string{found[0] +
			" comes after the command, so the command gets it; write options of qbsub before the command"}
	}
	return []string{strings.Join(found, ", ") +
		" come after the command, so the command gets them; write options of qbsub before the command"}
}

// complete makes the request of options, words and the caller's surroundings.
func (o *subOptions) complete(cmd *cobra.Command, words []string) error {
	if err := cmp.Or(giveOtherWords(cmd.Flags()), o.read(cmd)); err != nil {
		return err
	}
	if len(words) == 0 && o.archive.from != "" {
		words = o.req.Command
	} else if !cmd.Flags().Changed("shell") {
		o.req.Shell = len(words) == 1 && strings.ContainsFunc(words[0], unicode.IsSpace)
	}
	if len(words) == 0 || (len(words) == 1 && strings.TrimSpace(words[0]) == "") {
		return api.Errorf(api.KindUsage, "no command given; usage: %s", commandline.UseLine(cmd))
	}
	req := &o.req
	if _, err := attributeOption(submitOption).give(cmd.Flags(), req); err != nil {
		return err
	}
	if o.mail {
		req.Flags = append(req.Flags, facts.FlagMail)
	}
	if err := o.addDefaults(cmd); err != nil {
		return err
	}
	req.Command = words
	set := cmd.Flags().Changed
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
	return cmp.Or(o.addWaitFor(), o.addSurroundings(cmd))
}

// read takes the job of a file as the request that options then change.
func (o *subOptions) read(cmd *cobra.Command) error {
	if o.archive.from == "" {
		return nil
	}
	found, err := readArchive(o.archive.from)
	if err != nil {
		return err
	}
	status, user := o.req.Status, o.req.User
	o.req = found.SubmitRequest
	o.req.User, o.req.Status = user, cmp.Or(status, o.req.Status)
	remarks := found.Remarks
	if o.req.Status == "blocked" && status == "" {
		remarks = append(remarks, o.archive.from+": the job is held, as in the file; qbunblock lets it go, or add -status pending")
	}
	// The author of the file does not decide whether values of this shell's environment are sent.
	flags := facts.AttributeNamed("flags").Form(o.req.Flags)
	o.req.Flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == facts.FlagExport })
	if len(o.req.Flags) < len(flags) && !cmd.Flags().Changed("flags") {
		remarks = append(remarks, o.archive.from+": the flag export_environment is left out; the job gets the variables of the file. Add -flags export_environment to send yours")
	}
	remark(cmd, remarks)
	return nil
}

// addDefaults gives what qb.conf has for submissions from here, where no option does.
func (o *subOptions) addDefaults(cmd *cobra.Command) error {
	file, _ := cmd.Flags().GetString("conf")
	warn := io.Discard // connect warns
	if o.archive.to != "" {
		warn = cmd.ErrOrStderr()
	}
	c, err := config.Load(config.Source{File: file, Program: commandline.TypedName(cmd), Warn: warn, Client: true})
	if err != nil {
		return err
	}
	set, req := cmd.Flags().Changed, &o.req
	if c.ClientPriority > 0 && req.Priority == nil {
		req.Priority = &c.ClientPriority
	}
	for name, to := range map[string]struct {
		member *string
		value  string
	}{"cluster": {&req.Cluster, c.ClientCluster}, "account": {&req.Account, c.ClientAccount},
		"restrictions": {&req.Restrictions, c.ClientRestrictions}} {
		if !set(name) && *to.member == "" { // nor a file
			*to.member = to.value
		}
	}
	if flags := facts.AttributeNamed("flags").Form(req.Flags); !slices.Contains(flags, facts.FlagNoDefaults) {
		req.Flags = append(req.Flags, facts.SettingFlags(c.ClientJobFlags)...)
	}
	return nil
}

// addWaitFor turns Qube's older -waitfor into links.
func (o *subOptions) addWaitFor() error {
	for _, id := range facts.SplitList(o.waitFor) {
		if _, err := jobID(id); err != nil {
			return fmt.Errorf("-waitfor: %w", err)
		}
		o.req.Dependency = strings.TrimPrefix(o.req.Dependency+",link-done-job-"+id, ",")
	}
	return nil
}

// addSurroundings gives the job the caller's folder, umask, system and, if asked, environment.
func (o *subOptions) addSurroundings(cmd *cobra.Command) error {
	req := &o.req
	if req.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return api.Errorf(api.KindUsage, "the current folder has no name (%v); give -cwd DIR", err)
		}
		req.Cwd = dir
	} else if !pathmap.Absolute(req.Cwd) {
		return api.Errorf(api.KindUsage, "-cwd %q is not an absolute path", req.Cwd)
	}
	if req.Umask == nil {
		req.Umask = new(currentUmask())
	}
	if req.System == "" && o.archive.from == "" { // the paths of a file are of the machine where it was written
		req.System = runtime.GOOS
	}
	env := map[string]string{}
	maps.Copy(env, req.Env) // of a file
	if slices.Contains(facts.AttributeNamed("flags").Form(req.Flags), facts.FlagExport) {
		for _, pair := range os.Environ() {
			if !utf8.ValidString(pair) {
				name, _, _ := strings.Cut(pair, "=")
				remark(cmd, []string{fmt.Sprintf("the variable %q is left out: it is not UTF-8", name)})
				continue
			}
			if name, value, ok := strings.Cut(pair, "="); ok && !api.IsItemVariable(name) &&
				!slices.Contains([]string{"QB_TOKEN", "QB_DATABASE_URL", submitKey}, name) {
				env[name] = value
			}
		}
	}
	for _, pair := range o.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok && name != "" {
			if value, ok = os.LookupEnv(name); !ok {
				return api.Errorf(api.KindUsage, "-env %s: there is no such variable here; write -env %s=VALUE",
					output.Escape(name), output.Escape(name))
			}
		}
		if name == "" {
			return api.Errorf(api.KindUsage, "-env %q is not NAME=VALUE", pair)
		}
		env[name] = value
	}
	delete(env, api.InstanceMark)
	if len(env) > 0 {
		req.Env = env
	}
	return nil
}

// remark says on standard error what the supervisor changed on the way.
func remark(cmd *cobra.Command, remarks []string) {
	for _, text := range remarks {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", commandline.TypedName(cmd), output.Escape(text))
	}
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
	*w = widthValue(n) // the farm says what a negative one means
	return nil
}
