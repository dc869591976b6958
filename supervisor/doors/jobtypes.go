package doors

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"qb/api"
	"qb/openjd"
	"qb/supervisor/lead/problem"
)

// Names that the add-on and the built-in types give a meaning.
const (
	sceneKey  = "blendfile" // the add-on puts the path of its copy there
	nameParam = "Name"      // of a parameter that names the job
)

// flamencoType is a job type as the add-on makes a form of it.
type flamencoType struct {
	Name        string            `json:"name"`
	Label       string            `json:"label"`
	Description string            `json:"description,omitempty"`
	Settings    []flamencoSetting `json:"settings"`
	ETag        string            `json:"etag"`

	parameters map[string]*openjd.Parameter // by key of a setting
	name       string                       // the parameter that the job's name is; "": none
}

type flamencoSetting struct {
	Key         string                 `json:"key"`
	Type        string                 `json:"type"`
	Subtype     string                 `json:"subtype,omitempty"`
	Label       string                 `json:"label,omitempty"`
	Description string                 `json:"description,omitempty"`
	Choices     []string               `json:"choices,omitempty"`
	Default     any                    `json:"default,omitempty"`
	Required    bool                   `json:"required"`
	Visible     string                 `json:"visible,omitempty"`
	Eval        string                 `json:"eval,omitempty"`
	EvalInfo    *flamencoEval          `json:"evalInfo,omitempty"`
	Props       map[string]json.Number `json:"propargs,omitempty"`
}

type flamencoEval struct {
	Link        bool   `json:"showLinkButton"`
	Description string `json:"description"`
}

// projected is a job type as the add-on sees it. It is refused if its file can be no scene of Blender.
func projected(t api.JobType) (flamencoType, error) {
	of := flamencoType{Name: t.Name, Label: t.Name, Description: t.Description, Settings: []flamencoSetting{},
		ETag: etagOf(t), parameters: map[string]*openjd.Parameter{}}
	template, err := openjd.ReadJob([]byte(t.Template.Text), openjd.YAML)
	if err != nil {
		return of, err
	}
	if t.File == "" {
		return of, errors.New("a type without a file takes no scene")
	}
	for _, p := range template.Parameters {
		if p.Name == nameParam && p.Type == openjd.String && p.Allowed == nil && p.Name != t.File && p.Name != t.Range {
			of.name = p.Name
			continue
		}
		key := p.Name
		if p.Name == t.File {
			key = sceneKey
			if !takesScenes(p) {
				return of, errors.New("the file is no .blend")
			}
		}
		if of.parameters[key] != nil {
			return of, fmt.Errorf("the parameter %s has the name that the add-on gives the scene", key)
		}
		of.parameters[key] = p
		of.Settings = append(of.Settings, settingOf(key, p, t))
	}
	return of, nil
}

// etagOf changes with all that a form is made of.
func etagOf(t api.JobType) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", t.Name, t.Version, t.Description, t.File, t.Range,
		t.Template.Text))
	return hex.EncodeToString(sum[:16])
}

// takesScenes says whether a parameter takes .blend files.
func takesScenes(p *openjd.Parameter) bool {
	all := p.Control.Patterns
	return p.Type == openjd.Path && (len(all) == 0 || slices.ContainsFunc(all, func(pattern string) bool {
		return pattern == "*" || pattern == "*.*" || strings.EqualFold(pattern, "*.blend")
	}))
}

func settingOf(key string, p *openjd.Parameter, t api.JobType) flamencoSetting {
	s := flamencoSetting{Key: key, Type: "string", Label: cmp.Or(p.Control.Label, p.Name), Description: p.Description,
		Required: p.Default == nil, Choices: p.Allowed}
	if p.Default != nil {
		s.Default = *p.Default
	}
	switch yes, _, both := switchOf(p); {
	case both:
		s.Type = "bool"
		s.Choices = nil
		if p.Default != nil {
			s.Default = *p.Default == yes
		}
	case p.Type == openjd.Path && p.ObjectType == "FILE":
		s.Subtype = "file_path"
	case p.Type == openjd.Path:
		s.Subtype = "dir_path"
	case p.Type == openjd.Int && inInt32(p):
		s.Type = "int32"
	case p.Type == openjd.Float:
		s.Type = "float"
	}
	if s.Type == "int32" || s.Type == "float" {
		s.Choices = nil // the add-on chooses among texts alone; the farm refuses other numbers
		s.Default = nil
		if p.Default != nil {
			s.Default = json.Number(*p.Default)
		}
		s.Props = limitsOf(p)
	}
	switch p.Name {
	case t.File:
		s.Visible = "hidden"
		s.Eval = "bpy.data.filepath"
	case t.Range:
		s.Eval = "f'{C.scene.frame_start}-{C.scene.frame_end}'"
		s.EvalInfo = &flamencoEval{Link: true, Description: "Scene frame range"}
	}
	return s
}

// switchOf are the values of a parameter that is true or false, as its template spells them.
func switchOf(p *openjd.Parameter) (yes, no string, both bool) {
	if p.Type != openjd.String || len(p.Allowed) != 2 {
		return "", "", false
	}
	for _, value := range p.Allowed {
		switch strings.ToLower(value) {
		case "true":
			yes = value
		case "false":
			no = value
		}
	}
	return yes, no, yes != "" && no != ""
}

// inInt32 says whether the add-on's numbers hold the limits and the default of a parameter.
func inInt32(p *openjd.Parameter) bool {
	for _, text := range []*string{p.Default, p.Min, p.Max} {
		if text == nil {
			continue
		}
		if _, err := strconv.ParseInt(*text, 10, 32); err != nil {
			return false
		}
	}
	return true
}

func limitsOf(p *openjd.Parameter) map[string]json.Number {
	limits := map[string]json.Number{}
	for key, text := range map[string]*string{"min": p.Min, "max": p.Max} {
		if text != nil {
			limits[key] = json.Number(*text)
		}
	}
	return limits
}

// values are the parameters of a job. Scene is the file of a check, in the storage; "": the job's own.
func (of *flamencoType) values(j flamencoJob, storage map[string]string, scene string) (map[string]string, error) {
	values := map[string]string{}
	if of.name != "" && j.Name != "" {
		values[of.name] = j.Name
	}
	for _, key := range slices.Sorted(maps.Keys(j.Settings)) {
		p := of.parameters[key]
		if p == nil {
			return nil, problem.Invalid("settings", "%s: the job type %s has no such setting; refresh, and submit again",
				problem.Clip(key), of.Name)
		}
		text, err := textOf(p, j.Settings[key])
		if err != nil {
			return nil, problem.Invalid("settings", "%s: %v", key, err)
		}
		if p.Type == openjd.Path {
			text = ofHosts(text, j.Platform, storage)
		}
		if key == sceneKey && scene != "" {
			text = path.Join(storage["linux"], scene)
		}
		if p.Default == nil || text != *p.Default {
			values[p.Name] = text
		}
	}
	file := of.parameters[sceneKey].Name
	if inside := path.Clean(values[file]); !strings.HasPrefix(inside, path.Clean(storage["linux"])+"/") {
		return nil, problem.Invalid("settings", "%s: %q is not in the folder of the scenes, %s (supervisor_flamenco_storage)",
			sceneKey, problem.Clip(values[file]), storage["linux"])
	}
	return values, nil
}

// textOf is a value of a form as its template takes it.
func textOf(p *openjd.Parameter, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		yes, no, both := switchOf(p)
		switch {
		case !both:
			return "", errors.New("the setting is no switch; write a text or a number")
		case v:
			return yes, nil
		}
		return no, nil
	case json.Number:
		if p.Type != openjd.Float {
			return v.String(), nil
		}
		n, err := v.Float64()
		if single := float32(n); err == nil && float64(single) == n && !math.IsInf(n, 0) { // as Blender keeps them
			return strconv.FormatFloat(n, 'f', -1, 32), nil
		}
		return v.String(), nil
	}
	return "", errors.New("write a text, a number, true or false")
}

// ofHosts is a path of an artist's machine as the hosts see it, if it is in the storage.
func ofHosts(text, platform string, storage map[string]string) string {
	from := storage[platform]
	if from == "" || platform == "linux" {
		return text
	}
	to := text
	if platform == "windows" {
		from = strings.ReplaceAll(from, `\`, "/")
		to = strings.ReplaceAll(text, `\`, "/")
	}
	from = strings.TrimSuffix(from, "/")
	if len(to) > len(from) && to[len(from)] == '/' && (to[:len(from)] == from ||
		platform == "windows" && strings.EqualFold(to[:len(from)], from)) {
		return path.Join(storage["linux"], to[len(from):])
	}
	return text
}
