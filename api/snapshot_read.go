package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MaxSnapshotNumber bounds every count in a snapshot: slots, cpus, items.
const MaxSnapshotNumber = 1_000_000_000

// ReadSnapshot reads a snapshot strictly. A member may be missing where the contract has a default; one
// that is unknown, doubled, of the wrong type or out of range is refused with its place, such as
// running[3].host, and so is a snapshot that contradicts itself.
func ReadSnapshot(data []byte) (SnapshotDoc, error) {
	tree, err := parseTree(data)
	if err != nil {
		return SnapshotDoc{}, err
	}
	r := &snapshotReader{}
	doc := r.document(tree)
	if r.err == nil {
		r.check(&doc)
	}
	if r.err != nil {
		return SnapshotDoc{}, r.err
	}
	return doc, nil
}

// snapshotReader keeps the first thing that is wrong.
type snapshotReader struct{ err error }

func (r *snapshotReader) refuse(place, format string, args ...any) {
	if r.err == nil {
		r.err = Errorf(KindInvalid, "%s: %s", place, fmt.Sprintf(format, args...))
	}
}

func (r *snapshotReader) document(tree *treeNode) SnapshotDoc {
	o := r.object(tree, "", "now", "slots", "hosts", "cluster", "policy", "jobs", "running", "resources")
	doc := SnapshotDoc{Now: o.float("now", 0), Cluster: o.text("cluster", "/"), Resources: o.amounts("resources")}
	if o.has("slots") {
		slots := o.int("slots", 0)
		doc.Slots = &slots
	}
	switch {
	case o.has("slots") && o.has("hosts"):
		r.refuse("hosts", "a snapshot has slots (one pool) or hosts, not both")
	case !o.has("slots") && !o.has("hosts"):
		r.refuse("slots", "missing; a snapshot has slots (one pool) or hosts")
	}
	for i, n := range o.list("hosts") {
		doc.Hosts = append(doc.Hosts, r.host(n, fmt.Sprintf("hosts[%d]", i)))
	}
	if o.has("hosts") && doc.Hosts == nil {
		doc.Hosts = []SnapshotHost{}
	}
	doc.Policy = r.policy(o.member("policy"))
	doc.Jobs, doc.Running = []SnapshotJob{}, []SnapshotInstance{}
	for i, n := range o.list("jobs") {
		doc.Jobs = append(doc.Jobs, r.job(n, fmt.Sprintf("jobs[%d]", i)))
	}
	for i, n := range o.list("running") {
		doc.Running = append(doc.Running, r.instance(n, fmt.Sprintf("running[%d]", i)))
	}
	return doc
}

func (r *snapshotReader) policy(tree *treeNode) SnapshotPolicy {
	p := DefaultSnapshotPolicy()
	if tree == nil {
		return p
	}
	o := r.object(tree, "policy", "mode", "preempt", "default_max_cpus", "max_cpus_limit", "share_unit", "promote", "order")
	p.Mode = o.choice("mode", p.Mode, "jobs", "users", "none")
	p.Preempt = o.choice("preempt", p.Preempt, "aggressive", "passive", "disabled")
	p.ShareUnit = o.choice("share_unit", p.ShareUnit, "slots", "instances")
	if width := o.width("default_max_cpus"); width != nil {
		p.DefaultMaxCPUs = *width
	}
	p.MaxCPUsLimit = o.int("max_cpus_limit", p.MaxCPUsLimit)
	p.Promote = o.flag("promote", p.Promote)
	if o.has("order") {
		p.Order = []string{}
		for i, n := range o.list("order") {
			place := fmt.Sprintf("policy.order[%d]", i)
			term := r.choiceAt(n, place, orderTerms)
			if slices.Contains(p.Order, term) {
				r.refuse(place, "%q is there twice", term)
			}
			p.Order = append(p.Order, term)
		}
	}
	return p
}

func (r *snapshotReader) host(tree *treeNode, place string) SnapshotHost {
	o := r.object(tree, place, "name", "slots", "memory", "tags", "cluster", "up", "resources")
	h := SnapshotHost{Name: o.required("name"), Slots: o.int("slots", 0), Tags: o.texts("tags"), Cluster: o.text("cluster", "/"),
		Up: o.flag("up", true), Resources: o.amounts("resources")}
	if !o.has("slots") {
		r.refuse(place+".slots", "missing")
	}
	if o.has("memory") {
		memory := o.bytes("memory", 0)
		h.Memory = &memory
	}
	return h
}

func (r *snapshotReader) job(tree *treeNode, place string) SnapshotJob {
	o := r.object(tree, place, "id", "user", "priority", "submit", "cluster", "cpus", "max_cpus", "remaining", "agenda", "slots",
		"memory", "hosts", "tags", "weight", "fairshare", "vtime", "points", "resources")
	j := SnapshotJob{ID: o.required("id"), User: o.text("user", ""), Priority: o.int("priority", 9999), Submit: o.bytes("submit", 0),
		Cluster: o.text("cluster", "/"), CPUs: o.int("cpus", 0), MaxCPUs: o.width("max_cpus"), Agenda: o.flag("agenda", true),
		Slots: o.int("slots", 1), Memory: o.bytes("memory", 0), Tags: o.texts("tags"), Weight: o.float("weight", 1),
		Fairshare: o.float("fairshare", 1), VTime: o.float("vtime", 0), Points: o.signed("points"), Resources: o.amounts("resources")}
	if o.has("remaining") {
		remaining := o.int("remaining", 0)
		j.Remaining = &remaining
	}
	if o.has("hosts") {
		j.Hosts = o.texts("hosts")
	}
	switch {
	case !o.has("cpus"):
		r.refuse(place+".cpus", "missing")
	case j.Slots == 0:
		r.refuse(place+".slots", "an instance takes at least 1 slot")
	case j.Weight == 0:
		r.refuse(place+".weight", "must be above 0")
	}
	return j
}

func (r *snapshotReader) instance(tree *treeNode, place string) SnapshotInstance {
	o := r.object(tree, place, "id", "job", "kind", "host", "started", "item_started", "lost_work", "protected", "memory")
	i := SnapshotInstance{ID: o.required("id"), Job: o.required("job"), Kind: o.choice("kind", "primary", "primary", "secondary"),
		Host: o.text("host", ""), Started: o.float("started", 0), Protected: o.flag("protected", false)}
	if o.has("item_started") {
		began := o.float("item_started", 0)
		i.ItemStarted = &began
	}
	if o.has("lost_work") {
		lost := o.float("lost_work", 0)
		i.LostWork = &lost
	}
	if memory := o.bytes("memory", 0); memory > 0 {
		i.Memory = &memory
	}
	return i
}

// treeObject is an object being read; a member that is null counts as missing.
type treeObject struct {
	r       *snapshotReader
	place   string
	members map[string]*treeNode
}

// object makes sure that the tree is one and has no member but those named.
func (r *snapshotReader) object(tree *treeNode, place string, known ...string) treeObject {
	o := treeObject{r: r, place: place, members: map[string]*treeNode{}}
	if tree.kind != '{' {
		r.refuse(orDocument(place), "must be an object, is %s", tree)
		return o
	}
	for i, name := range tree.names {
		switch {
		case !slices.Contains(known, name):
			r.refuse(o.at(name), "unknown member; known are %s", strings.Join(known, ", "))
		case o.members[name] != nil:
			r.refuse(o.at(name), "is there twice")
		}
		o.members[name] = tree.items[i]
	}
	return o
}

func orDocument(place string) string {
	if place == "" {
		return "snapshot"
	}
	return place
}

func (o treeObject) at(name string) string {
	if o.place == "" {
		return name
	}
	return o.place + "." + name
}

func (o treeObject) member(name string) *treeNode {
	if n := o.members[name]; n != nil && n.kind != 'n' {
		return n
	}
	return nil
}

func (o treeObject) has(name string) bool { return o.member(name) != nil }

func (o treeObject) float(name string, otherwise float64) float64 {
	if !o.has(name) {
		return otherwise
	}
	v := o.signed(name)
	if v < 0 {
		o.r.refuse(o.at(name), "must not be negative, is %s", o.member(name))
	}
	return v
}

// signed is a number that may be below zero; missing, it is 0.
func (o treeObject) signed(name string) float64 {
	n := o.member(name)
	if n == nil {
		return 0
	}
	v, err := json.Number(n.text).Float64()
	if n.kind != '0' || err != nil {
		o.r.refuse(o.at(name), "must be a number, is %s", n)
	}
	return v
}

// whole is an integer between 0 and most.
func (o treeObject) whole(name string, otherwise, most int64) int64 {
	n := o.member(name)
	if n == nil {
		return otherwise
	}
	v := o.float(name, 0)
	switch {
	case v != math.Trunc(v):
		o.r.refuse(o.at(name), "must be a whole number, is %s", n)
	case v > float64(most):
		o.r.refuse(o.at(name), "must be at most %d, is %s", most, n)
	}
	if o.r.err != nil {
		return 0
	}
	return int64(v)
}

func (o treeObject) int(name string, otherwise int) int {
	return int(o.whole(name, int64(otherwise), MaxSnapshotNumber))
}

func (o treeObject) bytes(name string, otherwise int64) int64 {
	return o.whole(name, otherwise, 1<<53)
}

// width is a max_cpus: a number, "*", or nil where it is missing; anything negative means no limit.
func (o treeObject) width(name string) *int {
	n := o.member(name)
	if n == nil {
		return nil
	}
	v := -1
	switch {
	case n.kind == '"' && n.text == "*":
	case n.kind == '0' && strings.HasPrefix(n.text, "-"):
		if f, err := json.Number(n.text).Float64(); err != nil || f != math.Trunc(f) {
			o.r.refuse(o.at(name), `must be a whole number or "*", is %s`, n)
		}
	case n.kind == '0':
		v = o.int(name, 0)
	default:
		o.r.refuse(o.at(name), `must be a whole number or "*", is %s`, n)
	}
	return &v
}

func (o treeObject) text(name, otherwise string) string {
	n := o.member(name)
	if n == nil {
		return otherwise
	}
	if n.kind != '"' {
		o.r.refuse(o.at(name), "must be a string, is %s", n)
	}
	return n.text
}

func (o treeObject) required(name string) string {
	v := o.text(name, "")
	if v == "" {
		o.r.refuse(o.at(name), "missing")
	}
	return v
}

func (o treeObject) flag(name string, otherwise bool) bool {
	n := o.member(name)
	if n == nil {
		return otherwise
	}
	if n.kind != 't' {
		o.r.refuse(o.at(name), "must be true or false, is %s", n)
	}
	return n.text == "true"
}

func (o treeObject) list(name string) []*treeNode {
	n := o.member(name)
	if n == nil {
		return nil
	}
	if n.kind != '[' {
		o.r.refuse(o.at(name), "must be a list, is %s", n)
	}
	return n.items
}

// amounts are whole numbers by name; nil where the member is missing.
func (o treeObject) amounts(name string) map[string]int64 {
	n := o.member(name)
	if n == nil {
		return nil
	}
	if n.kind != '{' {
		o.r.refuse(o.at(name), "must be an object of whole numbers, is %s", n)
		return nil
	}
	of := o.r.object(n, o.at(name), n.names...)
	list := map[string]int64{}
	for _, resource := range n.names {
		list[resource] = of.bytes(resource, 0)
	}
	return list
}

func (o treeObject) texts(name string) []string {
	texts := []string{}
	for i, n := range o.list(name) {
		if n.kind != '"' {
			o.r.refuse(fmt.Sprintf("%s[%d]", o.at(name), i), "must be a string, is %s", n)
		}
		texts = append(texts, n.text)
	}
	return texts
}

func (o treeObject) choice(name, otherwise string, among ...string) string {
	if n := o.member(name); n != nil {
		return o.r.choiceAt(n, o.at(name), among)
	}
	return otherwise
}

func (r *snapshotReader) choiceAt(n *treeNode, place string, among []string) string {
	if n.kind != '"' || !slices.Contains(among, n.text) {
		r.refuse(place, "must be one of %s, is %s", strings.Join(among, ", "), n)
	}
	return n.text
}
