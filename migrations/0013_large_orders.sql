-- +goose Up

-- A mark holds the items first, first + step and so on to last, so that an order on every second item is one row.
ALTER TABLE item_mark ADD COLUMN step integer NOT NULL DEFAULT 1,
    ADD CONSTRAINT item_mark_step_check CHECK (step >= 1 AND (last - first) % step = 0);

-- +goose Down
INSERT INTO item_mark (job, first, last, kind, by, at)
    SELECT m.job, i, i, m.kind, m.by, m.at FROM item_mark m CROSS JOIN LATERAL generate_series(m.first + m.step, m.last, m.step) AS i
    WHERE m.step > 1;
UPDATE item_mark SET last = first WHERE step > 1;
ALTER TABLE item_mark DROP COLUMN step;
