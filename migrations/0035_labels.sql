-- +goose Up

-- What people give a job to find it by: a name within its process group, the job that it belongs to (0: none), and notes.
ALTER TABLE job ADD COLUMN label text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN pid bigint NOT NULL DEFAULT 0 CHECK (pid >= 0);
ALTER TABLE job ADD COLUMN notes text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN label, DROP COLUMN pid, DROP COLUMN notes;
