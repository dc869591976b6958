-- +goose Up

-- How often a token may still be exchanged for another. A token with a number here is good for nothing else. NULL: an
-- ordinary token, whose uses are not counted.
ALTER TABLE token ADD COLUMN uses_left integer CHECK (uses_left >= 0);

-- +goose Down
DELETE FROM token WHERE uses_left IS NOT NULL; -- an earlier qb would not count them
ALTER TABLE token DROP COLUMN uses_left;
