-- +goose Up

-- Name of the host that the token is for, while it waits for a person's approval: until then the token is good for nothing.
-- Empty: it does not wait.
ALTER TABLE token ADD COLUMN pending text NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM token WHERE pending <> ''; -- an earlier qb would not let them wait
ALTER TABLE token DROP COLUMN pending;
