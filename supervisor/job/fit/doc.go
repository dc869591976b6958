// Package fit says whether a job may run on a host, whatever slots are taken there now, and if not, why.
//
//	Read      a job's texts ──▶ Needs
//	Refused   Job, Host     ──▶ Refusal: a code, what the host has and what the job asks for
//	Keys      jobs of one key are refused alike by every host
//
// The planner, the explanations and the replies to submissions all ask Refused, and nothing else. Begin with
// refusal.go.
//
// The package must never decide what runs where, and holds nothing: its functions look at values.
package fit
