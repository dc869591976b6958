// Package supervisor serves a farm: the endpoints of package api, on the term that package term leads.
//
// Changes go through the loop of the current term and are answered when they are durable; lists and single things come
// from the last view of the farm and from the rows.
//
// It must never answer a worker's sync without a recent proof that the term stands, or serve a route that is not in
// api.Endpoints.
//
// Read first: run.go (what runs side by side), routes.go (what is served), server.go (what handlers share), sync.go (what a
// worker hears).
package supervisor
