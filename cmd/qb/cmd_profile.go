package main

import (
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// profileOptions are the options of qb profile.
type profileOptions struct {
	list        output.ListOptions
	user, set   string
	all, forget bool
}

// newProfileCommand is qb profile.
func newProfileCommand() *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use: "profile [NAME]", Short: "Show, correct or forget what was learned from jobs for the next of the same profile",
		Args: commandline.WantArgs(0, 1, ""),
		Long: "Show what was learned from jobs for the next of the same profile (qbsub -profile): the memory that an item needs, how long it takes,\n" +
			"and from how many items that is known. Without options, your own profiles.",
		Example: "  qb profile\n  qb profile blender:shot_beauty -set memory=6GiB,time=20m\n  qb profile blender:shot_beauty -forget\n  qb profile -all",
		RunE: func(cmd *cobra.Command, words []string) error {
			return runProfile(cmd, o, words)
		},
	}
	o.list.Bind(cmd.Flags())
	cmd.Flags().StringVar(&o.user, "user", "", "profiles of the user `NAME` (for operators)")
	cmd.Flags().BoolVar(&o.all, "all", false, "profiles of all users (for operators)")
	cmd.Flags().StringVar(&o.set, "set", "", "correct the profile NAME: `VALUES` such as memory=6GiB,time=90s; jobs submitted from now on can raise them")
	cmd.Flags().BoolVar(&o.forget, "forget", false,
		"forget what the profile NAME knows; jobs submitted from now on teach it anew")
	bindRepeat(cmd)
	return cmd
}

func runProfile(cmd *cobra.Command, o profileOptions, words []string) error {
	changes := o.forget || cmd.Flags().Changed("set")
	switch {
	case changes && len(words) == 0:
		return api.Errorf(api.KindUsage, "give the NAME of the profile to change; qb profile lists them")
	case o.forget && cmd.Flags().Changed("set"):
		return api.Errorf(api.KindUsage, "-set and -forget: give one of them")
	case o.all && (o.user != "" || changes):
		return api.Errorf(api.KindUsage, "-all only lists profiles; give -user NAME for those of one user")
	}
	params := api.Params{"user": o.user}
	if o.all {
		params["user"] = "*"
	}
	if changes {
		return changeProfile(cmd, o, words[0], params)
	}
	if len(words) > 0 {
		params["name"] = words[0]
	}
	return output.Print(cmd, "no profiles are known; the first job of a profile that ends makes one", o.list,
		profileColumns, func() (rows []api.Profile, err error) {
			err = connect(cmd).Send(cmd.Context(), api.ListProfiles, params, nil, &rows)
			if err == nil && len(rows) == 0 && len(words) > 0 {
				err = api.Errorf(api.KindNotFound, "nothing is known of a profile %q; qb profile lists those that are known",
					words[0])
			}
			return rows, err
		})
}

func changeProfile(cmd *cobra.Command, o profileOptions, name string, params api.Params) error {
	params["profile"] = name
	e, in := api.ForgetProfile, any(nil)
	if !o.forget {
		change, err := parseProfileValues(o.set)
		if err != nil {
			return err
		}
		e, in = api.SetProfile, change
	}
	return sayChange(cmd, name, e, params, in, func(p api.Profile) string {
		if o.forget {
			return output.Escape(p.Name) + ": forgotten"
		}
		return output.Escape(p.Name) + ": " + profileText(&p.Learned)
	})
}

// parseProfileValues reads what -set gives.
func parseProfileValues(text string) (change api.ProfileChange, err error) {
	for entry := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		switch name {
		case "memory":
			n, err := units.ParseSize(value, 1<<20)
			if err != nil || n <= 0 {
				return change, api.Errorf(api.KindUsage, "-set memory=%s: use a size above 0, such as 6GiB", output.Escape(value))
			}
			change.Memory = &n
		case "time":
			var span units.Span
			if err := span.Set(value); err != nil || span <= 0 {
				return change, api.Errorf(api.KindUsage, "-set time=%s: use a duration above 0, such as 90s or 20m",
					output.Escape(value))
			}
			seconds := span.Std().Seconds()
			change.Seconds = &seconds
		default:
			return change, api.Errorf(api.KindUsage,
				"-set: %q; use memory=SIZE, time=DURATION or both, such as memory=6GiB,time=90s", entry)
		}
	}
	return change, nil
}

var profileColumns = []output.Column[api.Profile]{
	{Name: "name"},
	{Name: "user"},
	{Name: "memory", Right: true, Member: "learned.memory_bytes", Number: output.KnownSize},
	{Name: "time", Right: true, Member: "learned.seconds", Number: output.Seconds},
	{Name: "items", Right: true, Member: "learned.items"},
	{Name: "jobs", Right: true, Member: "learned.jobs"},
	{Name: "source", Text: func(p api.Profile) string {
		l := p.Learned
		switch {
		case l.MemorySet && (l.SecondsSet || l.Seconds == 0), l.SecondsSet && l.Memory == 0:
			return "set by " + p.By
		case l.MemorySet:
			return "memory set by " + p.By + ", time learned"
		case l.SecondsSet:
			return "memory learned, time set by " + p.By
		}
		return "learned"
	}},
	{Name: "latest"},
	{Name: "by", Extra: true},
}

// profileText says what a job takes over from its profile.
func profileText(l *api.Learned) string {
	var parts []string
	if l != nil && l.Memory > 0 {
		parts = append(parts, "memory "+output.Size(float64(l.Memory))+", "+profileSource(l, l.MemorySet))
	}
	if l != nil && l.Seconds > 0 {
		parts = append(parts, "time "+output.Seconds(l.Seconds)+", "+profileSource(l, l.SecondsSet))
	}
	return strings.Join(parts, "; ")
}

// profileMemoryText says where the memory of a job comes from that its profile knows.
func profileMemoryText(l *api.Learned) string {
	return profileSource(l, l.MemorySet) + " of its profile"
}

func profileSource(l *api.Learned, set bool) string {
	if set {
		return "set by hand"
	}
	return "learned from " + facts.Several(l.Items, "item") + " of " + facts.Several(l.Jobs, "job")
}
