-- +goose Up

-- As given: patterns of host clusters, such as /show/* || /x/+, and what to prefer among hosts that fit.
ALTER TABLE job
    ADD COLUMN restrictions text NOT NULL DEFAULT '',
    ADD COLUMN host_order   text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN restrictions, DROP COLUMN host_order;
