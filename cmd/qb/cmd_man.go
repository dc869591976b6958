//go:build !client

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/qube"
)

// writeManPages writes a page for each command below root into dir, such as qb-sub.1. The links are further names under
// which commands are installed; each gets a page that includes the page of its command. Each Qube command that qb lacks
// gets a page with what to type instead.
func writeManPages(root *cobra.Command, links []string, version, dir string) error {
	undated(root)
	header := &doc.GenManHeader{Section: "1", Manual: "qb", Source: "qb " + version}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644)
	}
	for _, link := range links {
		command := strings.TrimPrefix(link, "qb")
		if answer, habit := qube.Command(link); habit {
			page := fmt.Sprintf(".TH %q 1 \"\" %q qb\n.SH NAME\n%s \\- a command of Qube! that qb does not have\n.SH DESCRIPTION\n%s\n.SH SEE ALSO\n.BR qb (1)\n",
				strings.ToUpper(link), "qb "+version, link, roff(answer))
			if err := write(link, page); err != nil {
				return err
			}
			continue
		}
		if err := write(link, ".so man1/qb-"+command+".1\n"); err != nil {
			return err
		}
	}
	return nil
}

// undated lets two runs write the same pages.
func undated(command *cobra.Command) {
	command.DisableAutoGenTag = true
	for _, child := range command.Commands() {
		undated(child)
	}
}

// roff writes plain text so that no part of it is an instruction.
func roff(text string) string {
	return `\&` + strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands", Hidden: true,
		Args: commandline.WantArgs(1, 1, "folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManPages(newRoot(), installedNames(), api.Version(), args[0])
		},
	}
}
