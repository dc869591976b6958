-- +goose Up

-- Earlier releases answered a submission or a change with the whole job: its number and version are left of that.
UPDATE answer SET body = json_build_object('ETag', body::json->'ETag', 'Body', json_build_object(
        'job', body::json#>'{Body,job,id}', 'version', body::json#>'{Body,job,version}', 'remarks', body::json#>'{Body,remarks}'))::text
    WHERE body LIKE '%"Body":{"job":{%' AND strpos(body, '\u0000') = 0; -- which Postgres does not read; no job has it

-- A key is that of one host: of several rows that have it the one that changed last keeps it.
UPDATE host h SET key = '' WHERE key <> '' AND EXISTS (SELECT FROM host o WHERE o.key = h.key AND (o.seen_at, o.id) > (h.seen_at, h.id));

-- +goose Down
