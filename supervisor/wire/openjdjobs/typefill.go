package openjdjobs

import (
	"cmp"
	"maps"
	"reflect"

	"qb/api"
)

// Fill is a request of a type with the type's template, and its attributes where the request gives none.
func Fill(r *api.OpenJDRequest, t api.JobType) *api.OpenJDRequest {
	filled := *r
	filled.Template = *t.Template
	job := api.SubmitRequest{}
	if r.Job != nil {
		job = *r.Job
	}
	env := map[string]string{}
	if t.Job != nil {
		maps.Copy(env, t.Job.Env)
		given := reflect.ValueOf(&job).Elem()
		for field, value := range reflect.ValueOf(*t.Job).Fields() {
			if of := given.FieldByIndex(field.Index); of.IsZero() {
				of.Set(value)
			}
		}
	}
	maps.Copy(env, job.Env)
	env["QB_JOB_TYPE"] = t.Name + " " + t.Version
	job.Env = env
	job.Kind = cmp.Or(job.Kind, t.Name)
	filled.Job = &job
	return &filled
}
