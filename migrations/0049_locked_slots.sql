-- +goose Up

-- How many of a host's slots a person has locked; the others take items. 0 where it is locked whole, or not at all.
ALTER TABLE host ADD COLUMN locked_slots integer NOT NULL DEFAULT 0 CHECK (locked_slots >= 0);

-- +goose Down
ALTER TABLE host DROP COLUMN locked_slots;
