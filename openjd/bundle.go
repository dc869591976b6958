package openjd

import "fmt"

// Bundle names the files of a folder that the dialogs of applications export: a job template with values of its
// parameters; "" if there is none.
type Bundle struct{ Template, Values, Assets string }

// FindBundle finds the files of a bundle in a folder, each in one of its two syntaxes.
func FindBundle(has func(name string) bool) (b Bundle, err error) {
	for stem, file := range map[string]*string{"template": &b.Template, "parameter_values": &b.Values,
		"asset_references": &b.Assets} {
		for _, name := range []string{stem + ".yaml", stem + ".json"} {
			if !has(name) {
				continue
			}
			if *file != "" {
				return b, fmt.Errorf("%s and %s are both there; remove one", *file, name)
			}
			*file = name
		}
	}
	if b.Template == "" {
		err = fmt.Errorf("the folder has neither template.yaml nor template.json")
	}
	return b, err
}
