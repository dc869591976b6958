-- +goose Up

-- The order by hand: among all unfinished jobs of one cluster and priority, the least first; and the job of the same owner
-- whose turn it has, 0: its own.
ALTER TABLE job ADD COLUMN global_order bigint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN local_order bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job DROP COLUMN global_order, DROP COLUMN local_order;
