package main

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newOpenCommand is qb open.
func newOpenCommand() *cobra.Command {
	var browser bool
	cmd := &cobra.Command{
		Use: "open [VIEW]", Short: "Print a link that logs a browser in to the farm's page once; start the browser with -browser", Args: commandline.WantArgs(0, 1, "[VIEW]"),
		Long: "Print a link to the farm's page. It logs one tab of a browser in, as you, within 5 minutes and until the supervisor restarts. The\n" +
			"session ends with the tab, also when it is loaded again; after 12 hours; with the credential that this command used; or with\n" +
			"qb login -revoke ID. qb login -list shows sessions, too. VIEW is what the page shows first: a job's number, or an address of the page.",
		Example: "  qb open\n  qb open -browser\n  qb open 12\n  qb open '#/jobs?q=status:failed'",
		RunE: func(cmd *cobra.Command, args []string) error {
			view, err := pageView(args)
			if err != nil {
				return err
			}
			code, err := ask[api.CodeReply](cmd, api.MakeCode, nil, nil)
			if err != nil {
				return err
			}
			link := code.Link(view)
			if browser {
				return startBrowser(cmd.Context(), link)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), output.Escape(link))
			return err
		},
	}
	cmd.Flags().BoolVar(&browser, "browser", false, "start the browser with xdg-open instead of printing the link")
	return cmd
}

// pageView is the part of an address of the page that says what is seen.
func pageView(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if _, err := strconv.ParseUint(args[0], 10, 63); err == nil {
		return "/jobs/" + args[0], nil
	}
	_, view, _ := strings.Cut(args[0], "#")
	if !strings.HasPrefix(view, "/") {
		return "", api.Errorf(api.KindUsage, "VIEW %q: use a job's number, or an address of the page such as '#/jobs/12'",
			args[0])
	}
	return view, nil
}

var pageRedirect = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("open").Parse(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={{.}}"><title>qb</title><a href="{{.}}">the farm</a>` + "\n"))
})

// startBrowser leads the browser by a file that only this user can read: the arguments of a process are everybody's to
// see.
func startBrowser(ctx context.Context, link string) error {
	dir, err := os.MkdirTemp("", "qb-open-")
	if err != nil {
		return fmt.Errorf("making the file that leads the browser to the page: %w", err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "open.html")
	var page bytes.Buffer
	err = pageRedirect().Execute(&page, link)
	if err == nil {
		err = os.WriteFile(name, page.Bytes(), 0o600)
	}
	if err == nil {
		err = exec.CommandContext(ctx, "xdg-open", name).Run()
	}
	if err != nil {
		return api.Errorf(api.KindConflict, "the browser cannot be started: %v; open the link that qb open prints", err)
	}
	time.Sleep(2 * time.Second) // xdg-open returns before the browser has read the file
	return nil
}
