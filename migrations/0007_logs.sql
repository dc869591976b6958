-- +goose Up

-- The output of items is files beside the database; this says when those of the job's earlier attempts were removed.
ALTER TABLE job ADD COLUMN logs_removed_at timestamptz;

-- What history does next, without looking at what it has done.
CREATE INDEX job_to_compact ON job (finished_at, id) WHERE finished_at IS NOT NULL AND compacted_at IS NULL;
CREATE INDEX job_with_logs ON job (finished_at, id)
    WHERE finished_at IS NOT NULL AND (logs_removed_at IS NULL OR logs_removed_at < finished_at);

-- +goose Down
DROP INDEX job_to_compact, job_with_logs;
ALTER TABLE job DROP COLUMN logs_removed_at;
