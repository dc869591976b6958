package main

import (
	_ "embed"
	"strings"
)

var (
	//go:embed completion.bash
	bashCompletion string
	//go:embed completion.zsh
	zshCompletion string
	//go:embed completion.fish
	fishCompletion string
	//go:embed completion.ps1
	powershellCompletion string
)

// completionShells are the shells that have a script.
var completionShells = []string{"bash", "zsh", "fish", "powershell"}

// completionScript connects a shell to the programs of these names; "" if there is none for it.
func completionScript(shell string, names []string) string {
	text := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
		"powershell": powershellCompletion}[shell]
	return strings.ReplaceAll(text, "@NAMES@", strings.Join(names, " "))
}
