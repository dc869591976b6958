-- +goose Up

-- A mark holds the items first, first + step and so on to last, so that an order on every second item is one row.
ALTER TABLE item_mark ADD COLUMN step integer NOT NULL DEFAULT 1,
    ADD CONSTRAINT item_mark_step_check CHECK (step >= 1 AND (last - first) % step = 0);

-- An order that takes more than one commit, or waits for one that does; deleted when it is carried out.
CREATE TABLE item_order (
    job      bigint      NOT NULL REFERENCES job (id),
    number   bigint      NOT NULL, -- rises with each order on the job
    action   text        NOT NULL CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt', 'preempt')),
    items    jsonb,                -- [[first, last, step], ...]; null: all
    by       text        NOT NULL,
    at       timestamptz NOT NULL,
    begun_at timestamptz,          -- null: it waits for those before it
    next     integer     NOT NULL CHECK (next >= 0), -- all items below it are done
    affected bigint      NOT NULL,
    done     bigint      NOT NULL CHECK (done BETWEEN 0 AND affected),
    PRIMARY KEY (job, number)
);

-- +goose Down
DROP TABLE item_order;
INSERT INTO item_mark (job, first, last, kind, by, at)
    SELECT m.job, i, i, m.kind, m.by, m.at FROM item_mark m CROSS JOIN LATERAL generate_series(m.first + m.step, m.last, m.step) AS i
    WHERE m.step > 1;
UPDATE item_mark SET last = first WHERE step > 1;
ALTER TABLE item_mark DROP COLUMN step;
