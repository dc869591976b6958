package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"qb/api"
)

// A client calls an endpoint by the table of endpoints. Here a server of its own answers.
func ExampleClient_Call() {
	farm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"id": 7, "name": "shot1", "status": "running"}]`)
	}))
	defer farm.Close()
	client, err := api.NewClient(farm.URL, "token")
	if err != nil {
		fmt.Println(err)
		return
	}
	var jobs []api.Job
	if err := client.Call(context.Background(), api.ListJobs, api.Params{}, nil, &jobs); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(jobs[0].ID, jobs[0].Name, jobs[0].Status)
	// Output: 7 shot1 running
}
