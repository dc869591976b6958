// Package serve serves a farm: the endpoints of package api, on the term that package term leads.
//
// Changes go through the loop of the current term and are answered when they are durable; lists and single things come
// from the last view of the farm and from the rows.
//
// It must never answer a worker's sync without a recent proof that the term is still valid, or serve a route that is
// not in api.Endpoints.
//
//	server ── leads terms
//	   │
//	   ├── jobs, items, hosts, people, shares, workers, page, admin     a service each, in the files of its name; each
//	   │                                                                 registers its own endpoints
//	   └── backend     what the services share: rights, limits, single jobs and hosts
//	          └── leadership     the loop of the term and its last view, or who leads instead
//
// Read first: run.go (what runs side by side), routes.go (how an endpoint is served), backend.go (what the services
// share), workers.go (how a worker's sync is answered).
package serve
