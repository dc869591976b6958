// Package explain says why a job's items wait: one sentence with its code, and the facts below it.
//
//	Farm ──New──▶ Explainer ──Why──▶ code, parameters and sentence
//	                        ──Explain──▶ the same, and facts
//
// The farm hands over a Farm, made when somebody asks. Which hosts serve a job is what package fit says, as in a plan.
// Begin with farm.go, which has all that an explanation looks at, then explain.go.
//
// The package must never change what it looks at, and remembers nothing from one Explainer to the next.
package explain
