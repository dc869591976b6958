-- +goose Up

-- The priority that an operator or admin gave last; 0: none did. Where fairshare ranks the owners of jobs it acts on all jobs, and
-- what owners give on their own.
ALTER TABLE job ADD COLUMN operator_priority integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job DROP COLUMN operator_priority;
