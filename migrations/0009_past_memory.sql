-- +goose Up

-- What a job's attempts that have become rows of usage_day told of its memory.
ALTER TABLE job
    ADD COLUMN peaks_returned bigint NOT NULL DEFAULT 0, -- how many that were done had a peak
    ADD COLUMN peak_returned  bigint NOT NULL DEFAULT 0, -- bytes, the largest of those
    ADD COLUMN peak_largest   bigint NOT NULL DEFAULT 0, -- bytes, of all
    ADD COLUMN ran_out        bigint NOT NULL DEFAULT 0, -- items that ended for want of memory
    ADD COLUMN ran_out_at     bigint NOT NULL DEFAULT 0; -- bytes, the most that was not enough for one

-- +goose Down
ALTER TABLE job DROP COLUMN peaks_returned, DROP COLUMN peak_returned, DROP COLUMN peak_largest, DROP COLUMN ran_out,
    DROP COLUMN ran_out_at;
