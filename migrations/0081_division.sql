-- +goose Up

-- Of a submission that became several jobs (a job of preview items and one of the others, or one for each host): the jobs that were made before
-- the last one, and what the submission asked for before it was divided. {"part": true} is one of those made before. NULL: the submission is this job.
ALTER TABLE job ADD COLUMN division jsonb;

-- +goose Down
ALTER TABLE job DROP COLUMN division;
