-- +goose Up

-- What others than the owner may do with a job, such as group=vmk,others=v. Empty: as the farm's settings say.
ALTER TABLE job ADD COLUMN security text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN security;
