-- +goose Up

-- How the user calls the token: of a login, user and workstation. A token with a name counts only while its user has a row.
ALTER TABLE token ADD COLUMN name text NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM token WHERE name <> ''; -- an earlier qb would let them count without that row
ALTER TABLE token DROP COLUMN name;
