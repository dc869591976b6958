package complete

import (
	_ "embed"
	"strings"
)

var (
	//go:embed script.bash
	bash string
	//go:embed script.zsh
	zsh string
	//go:embed script.fish
	fish string
)

// Shells are those that have a script.
var Shells = []string{"bash", "zsh", "fish"}

// Script connects a shell to the programs of these names; "" if there is none for it.
func Script(shell string, names []string) string {
	text := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	return strings.ReplaceAll(text, "@NAMES@", strings.Join(names, " "))
}
