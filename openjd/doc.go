// Package openjd is the language of Open Job Description, revision 2023-09: it reads job templates and
// environment templates, says everything that is wrong in them, and makes a job of a template and the values of
// its parameters.
//
//	text ──Read──▶ JobTemplate ──CreateJob──▶ Job ──▶ Step ──Space.At(n)──▶ values of the n-th task
//	                    ▲                      │
//	  EnvironmentTemplates, values, folders    └──▶ actions, whose format strings a host resolves
//
// The names of the specification are kept: a step has tasks, a task has parameters, an environment is entered and
// left. A format string is resolved in one of two stages: names, ranges, limits and requirements when the job is
// created, commands, arguments, variables and files on the host that runs the action.
//
// The package has no side effects: no clock, no files, no goroutines. It imports the standard library and
// go.yaml.in/yaml/v4 alone, so that another program can use it. A range is counted, with checks for overflow, before
// anything is made of it, and a task is a function of the space and its number: nothing is expanded.
//
// It knows the extensions TASK_CHUNKING, REDACTED_ENV_VARS and FEATURE_BUNDLE_1. A template that names EXPR,
// WRAP_ACTIONS or any other is refused.
//
// Read next: template.go (what a template holds), read.go (how one is read), create.go (how a job is made).
package openjd
