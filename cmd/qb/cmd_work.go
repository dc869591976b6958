package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// A program of a load-once job that is a shell script takes its items by these commands: see docs/sessions.md.

const (
	workAskWait = 10 * time.Second // for which one request for an item waits at most
	workAnswer  = time.Minute      // a report is recorded on a disk first
	workLongest = 1 << 20          // bytes of a reply
)

// workReply is the answer, and line its text.
type workReply struct {
	api.ProgramReply
	line []byte
}

func newWorkCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "work", Short: "Take and report the items of a program that stays loaded, from a shell",
		Long: "Take and report the items of a program that stays loaded, from a shell: for the command of a job of the type loadonce, which is started\n" +
			"once for each instance. See docs/sessions.md."}
	cmd.AddCommand(newWorkRequestCommand(), newWorkReportCommand())
	return cmd
}

func newWorkRequestCommand() *cobra.Command {
	var wait units.Span
	var asJSON bool
	cmd := &cobra.Command{
		Use: "request", Short: "Print the program's next item as variables for a shell",
		Args: commandline.WantArgs(0, 0, ""),
		Long: `Print the program's next item as variables for a shell: those of the item, QB_WORK_NAME, its name, and QB_WORK_STATUS. Without -wait it
waits until there is an item, or none will come.

The exit code is 0 with an item; 1 if there is none now (waiting, blocked); 3 if the program is to end (pending, complete), also if
it cannot be asked for items.`,
		Example: "  while item=$(qb work request); do\n    eval \"$item\"\n    render \"$QB_WORK_NAME\" && qb work report complete || qb work report failed\n  done",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return requestWork(cmd, cmd.Flags().Changed("wait"), time.Duration(wait), asJSON)
		},
	}
	cmd.Flags().Var(&wait, "wait", "wait at most this `TIME` for an item, such as 90s; 0: not at all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the reply as JSON")
	return cmd
}

func requestWork(cmd *cobra.Command, limited bool, wait time.Duration, asJSON bool) error {
	for end := time.Now().Add(wait); ; {
		once := workAskWait
		if limited {
			once = min(once, max(0, time.Until(end)))
		}
		reply, err := askForWork(api.ProgramRequest{Do: api.ProgramRequestWork, Wait: once.Seconds()}, once)
		if err != nil {
			return err
		}
		if reply.Status == api.ProgramWaiting && (!limited || time.Now().Before(end)) {
			continue
		}
		return printWork(cmd.OutOrStdout(), reply, asJSON)
	}
}

// shellName is what a shell can have as the name of a variable.
var shellName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func printWork(out io.Writer, reply workReply, asJSON bool) error {
	text := string(reply.line)
	if !asJSON {
		var lines strings.Builder
		fmt.Fprintf(&lines, "QB_WORK_STATUS=%s\n", shellQuoted(reply.Status))
		if reply.Status == api.ProgramRunning {
			work := cmp.Or(reply.Work, &api.ProgramItem{})
			fmt.Fprintf(&lines, "QB_WORK_NAME=%s\n", shellQuoted(work.Name))
			for _, name := range slices.Sorted(maps.Keys(work.Env)) {
				if shellName().MatchString(name) {
					fmt.Fprintf(&lines, "export %s=%s\n", name, shellQuoted(work.Env[name]))
				}
			}
		}
		text = lines.String()
	}
	_, err := io.WriteString(out, text)
	switch reply.Status {
	case api.ProgramRunning:
		return err
	case api.ProgramWaiting, api.ProgramBlocked:
		return errors.Join(commandline.ErrSilent, err)
	}
	toEnd := api.Errorf(api.KindUnavailable, "the program is to end: %s", reply.Status)
	return errors.Join(commandline.ErrSilent, toEnd, err)
}

// shellQuoted is a text that a shell takes as one word, whatever is in it.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func newWorkReportCommand() *cobra.Command {
	r := api.ProgramRequest{Do: api.ProgramReportWork, Item: -1}
	var result string
	cmd := &cobra.Command{
		Use: "report complete|failed|running", Short: "Report what became of the program's item",
		Args: commandline.WantArgs(1, 1, "complete, failed or running"),
		Long: `Report what became of the item that qb work request printed. The item is that of QB_ITEM and QB_ATTEMPT, unless -item and -attempt name
it. running reports -progress alone. After failed the program is to end.`,
		Example: "  qb work report complete -output_path /show/out/7.exr\n  qb work report failed -exit_code 3 -reason 'no licence'\n  qb work report running -progress 40",
		RunE: func(_ *cobra.Command, words []string) (err error) {
			r.Status = words[0]
			if r.Item, err = workNumber("QB_ITEM", "item", r.Item, r.Item >= 0); err != nil {
				return err
			}
			if r.Attempt, err = workNumber("QB_ATTEMPT", "attempt", r.Attempt, r.Attempt > 0); err != nil {
				return err
			}
			if result != "" {
				if r.Result = json.RawMessage(result); !json.Valid(r.Result) {
					return api.Errorf(api.KindUsage, "-result %s: this is no JSON; write a text as '\"text\"'", units.Quoted(result))
				}
			}
			_, err = askForWork(r, 0)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Item, "item", -1, "`NUMBER` of the item, from 0")
	f.IntVar(&r.Attempt, "attempt", 0, "`NUMBER` of the attempt, from 1")
	f.IntVar(&r.ExitCode, "exit_code", 0, "exit code `N` of a failed item; default: 1")
	f.StringVar(&r.Reason, "reason", "", "`TEXT` that says why the item failed")
	f.Float64Var(&r.Progress, "progress", 0, "how far the item is, in `PERCENT`")
	f.StringArrayVar(&r.OutputPaths, "output_path", nil, "`FILE` that the item has written; may be repeated")
	f.StringVar(&result, "result", "", "`JSON` of at most 4096 bytes that goes with the end of the item")
	return cmd
}

// workNumber is the number that was given, else that of a variable.
func workNumber(variable, option string, given int, is bool) (int, error) {
	if is {
		return given, nil
	}
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return 0, api.Errorf(api.KindUsage, "%s is %s; evaluate what qb work request prints, or give -%s", variable,
			units.Quoted(os.Getenv(variable)), option)
	}
	return n, nil
}

// askForWork has one connection for one request; wait is how long its reply may be held.
func askForWork(r api.ProgramRequest, wait time.Duration) (reply workReply, err error) {
	path := os.Getenv("QB_WORK")
	if path == "" {
		return reply, api.Errorf(api.KindUsage,
			"QB_WORK is not set, so this is no program of a load-once job; submit the script with qbsub -type loadonce")
	}
	gone := func(err error) error {
		return api.Errorf(api.KindUnavailable, "the socket %s (QB_WORK) does not answer: %v", output.Escape(path), err)
	}
	r.Version = api.ProgramVersion
	line, err := json.Marshal(r)
	if err != nil {
		return reply, fmt.Errorf("writing the request: %w", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return reply, gone(err)
	}
	defer conn.Close()
	if err = conn.SetDeadline(time.Now().Add(wait + workAnswer)); err == nil {
		_, err = conn.Write(append(line, '\n'))
	}
	if err != nil {
		return reply, gone(err)
	}
	if reply.line, err = bufio.NewReader(io.LimitReader(conn, workLongest)).ReadBytes('\n'); err == nil {
		err = json.Unmarshal(reply.line, &reply)
	}
	switch {
	case err != nil:
		return reply, gone(err)
	case reply.Error == api.ProgramRefused:
		return reply, api.Errorf(api.KindForbidden, "%s", output.Escape(reply.Detail))
	case reply.Error != "":
		return reply, api.Errorf(api.KindConflict, "%s: %s", output.Escape(reply.Error), output.Escape(reply.Detail))
	}
	return reply, nil
}
