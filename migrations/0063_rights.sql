-- +goose Up

-- Rights of a user, by name. Null: those of the role.
ALTER TABLE person ADD COLUMN rights text[];

-- +goose Down
ALTER TABLE person DROP COLUMN rights;
