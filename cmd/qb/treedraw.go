package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qb/api"
	"qb/supervisor/job/facts"
)

// treeNode is a job of the group in its place.
type treeNode struct {
	Job      int64          `json:"job"`
	Name     string         `json:"name"`
	Label    string         `json:"label"`
	Status   string         `json:"status"`
	Items    api.ItemCounts `json:"items"`
	Under    int64          `json:"under"`     // the job that it is drawn below; 0: none
	WaitsFor []int64        `json:"waits_for"` // jobs of the group that its dependency names
	Others   []string       `json:"others"`    // links to what is not in the group
	group    string         // the label of the submission that it is a part of, which the submission's last job has
	lead     string         // the lines before it
}

// treeNodes orders the jobs of a group as they are drawn: each below the first job that it waits for.
func treeNodes(jobs []api.Job) []*treeNode {
	jobs = slices.SortedFunc(slices.Values(jobs), func(a, b api.Job) int { return cmp.Compare(a.ID, b.ID) })
	g := treeGroup{at: map[int64]*treeNode{}, labelled: map[string]int64{}, parts: map[int64][]int64{}}
	all := make([]*treeNode, len(jobs))
	for n, j := range jobs {
		all[n] = &treeNode{Job: j.ID, Name: j.Name, Label: j.Label, Status: j.Status, Items: j.Items, WaitsFor: []int64{},
			Others: []string{}}
		g.at[j.ID], g.parts[j.ID] = all[n], append(slices.Clone(j.Before), j.ID)
		if j.Label != "" {
			g.labelled[j.Label] = j.ID
		}
		for _, id := range g.parts[j.ID] {
			if part := g.at[id]; part != nil {
				part.group = j.Label
			}
		}
	}
	below := map[int64][]*treeNode{}
	for n, j := range jobs {
		node := all[n]
		node.link(j, &g)
		if len(node.WaitsFor) > 0 {
			node.Under = node.WaitsFor[0]
		}
		below[node.Under] = append(below[node.Under], node)
	}
	d := treeDrawing{below: below, drawn: map[*treeNode]bool{}}
	d.add(below[0], "", false)
	for _, node := range all { // of jobs that wait for each other, none is below another that is drawn
		if !d.drawn[node] {
			node.Under = 0
			d.add([]*treeNode{node}, "", false)
		}
	}
	return d.order
}

// treeGroup is what links in a process group are looked up in.
type treeGroup struct {
	at       map[int64]*treeNode
	labelled map[string]int64 // the job with the label
	// of the submission whose last job it is, this included: a link to that one is a link to all
	parts map[int64][]int64
}

// link notes what a job waits for.
func (n *treeNode) link(j api.Job, g *treeGroup) {
	if j.Dependency == "" {
		return
	}
	links, err := facts.ParseDependency(j.Dependency)
	if err != nil { // of another release
		n.Others = []string{j.Dependency}
		return
	}
	texts := strings.Split(j.Dependency, ",")
	for k, l := range links {
		id := int64(l.Job)
		if l.Label != "" {
			id = g.labelled[l.Label]
		}
		if g.at[id] == nil || id == n.Job {
			n.Others = append(n.Others, strings.TrimSpace(texts[k]))
			continue
		}
		for _, part := range g.parts[id] {
			if g.at[part] != nil && part != n.Job && !slices.Contains(n.WaitsFor, part) {
				n.WaitsFor = append(n.WaitsFor, part)
			}
		}
	}
}

type treeDrawing struct {
	below map[int64][]*treeNode
	drawn map[*treeNode]bool
	order []*treeNode
}

// add draws jobs with those below them; lines are drawn to all but the first ones.
func (d *treeDrawing) add(list []*treeNode, lead string, inner bool) {
	for k, node := range list {
		if d.drawn[node] {
			continue
		}
		d.drawn[node] = true
		further := lead
		switch last := k == len(list)-1; {
		case !inner:
			node.lead = lead
		case last:
			node.lead, further = lead+"└─ ", lead+"   "
		default:
			node.lead, further = lead+"├─ ", lead+"│  "
		}
		d.order = append(d.order, node)
		d.add(d.below[node.Job], further, true)
	}
}

// job is how a job is named in its line.
func (n *treeNode) job() string {
	text := fmt.Sprintf("%s%d %s", n.lead, n.Job, n.Name)
	if n.group != "" {
		text += " (" + n.group + ")"
	}
	return text
}

// done says how far its items are.
func (n *treeNode) done() string {
	text := fmt.Sprintf("%d/%d", n.Items.Complete, n.Items.Total)
	if n.Items.Running > 0 {
		text += fmt.Sprintf(", %d running", n.Items.Running)
	}
	if n.Items.Failed > 0 {
		text += fmt.Sprintf(", %d failed", n.Items.Failed)
	}
	return text
}

// waits names what it waits for beside the job that it is drawn below.
func (n *treeNode) waits() string {
	var list []string
	for _, id := range n.WaitsFor {
		if id != n.Under {
			list = append(list, fmt.Sprint(id))
		}
	}
	return strings.Join(append(list, n.Others...), ",")
}
