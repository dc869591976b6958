-- +goose Up

-- Regular expressions for the output of a job's items, one in each line: how far an item is, and that it has failed.
ALTER TABLE job ADD COLUMN regex_progress text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN regex_errors text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN regex_progress, DROP COLUMN regex_errors;
