-- +goose Up

-- The owner's uid on the supervisor's machine, if the kernel named it at the submission. Workers compare it with that of
-- the owner's name on their own host.
ALTER TABLE job ADD COLUMN owner_uid bigint CHECK (owner_uid BETWEEN 0 AND 4294967295);

-- +goose Down
ALTER TABLE job DROP COLUMN owner_uid;
