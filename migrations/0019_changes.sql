-- +goose Up

-- When a job last changed, to the second. A table of its own: a job's row is wide and has many indexes, all of which each
-- change would write anew.
CREATE TABLE job_change (
    job        bigint      PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    changed_at timestamptz NOT NULL
) WITH (fillfactor = 70);
INSERT INTO job_change SELECT id, date_trunc('second', greatest(submitted_at, finished_at)) FROM job;
CREATE INDEX job_change_at ON job_change (changed_at);

-- Filters of lists; "C" orders a cluster before those below it.
CREATE INDEX job_name ON job (name, id);
CREATE INDEX job_cluster ON job (cluster COLLATE "C", id);
CREATE INDEX job_tags ON job USING gin (tags jsonb_path_ops) WHERE tags <> '{}';

-- +goose Down
DROP INDEX job_name, job_cluster, job_tags;
DROP TABLE job_change;
