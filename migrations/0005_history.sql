-- +goose Up

-- What closed attempts add up to, once their rows are gone: for each UTC day of their ends, who paid, the project's
-- cluster, the host, and what became of them. Failed is all that gave no result: failed, killed and lost. Used_ is
-- the charge in CPU-equivalent seconds, left_ the same decayed to the day's end.
CREATE TABLE usage_day (
    day            date             NOT NULL,
    owner          text             NOT NULL,
    account        text             NOT NULL,
    cluster        text             NOT NULL,
    host           text             NOT NULL,
    kind           text             NOT NULL CHECK (kind IN ('primary', 'secondary', 'preempted', 'failed')),
    charged        boolean          NOT NULL, -- the owner pays it
    attempts       bigint           NOT NULL CHECK (attempts > 0),
    wall           double precision NOT NULL, -- seconds
    slot_seconds   double precision NOT NULL,
    cpu_seconds    double precision NOT NULL,
    memory_seconds double precision NOT NULL, -- bytes × seconds
    used_cpu       double precision NOT NULL CHECK (used_cpu >= 0),
    used_ram       double precision NOT NULL CHECK (used_ram >= 0),
    used_gpu       double precision NOT NULL CHECK (used_gpu >= 0),
    used_scratch   double precision NOT NULL CHECK (used_scratch >= 0),
    left_cpu       double precision NOT NULL CHECK (left_cpu >= 0),
    left_ram       double precision NOT NULL CHECK (left_ram >= 0),
    left_gpu       double precision NOT NULL CHECK (left_gpu >= 0),
    left_scratch   double precision NOT NULL CHECK (left_scratch >= 0),
    PRIMARY KEY (day, owner, account, cluster, host, kind, charged)
);

-- What is known of a job's attempts that have become rows of usage_day; its items' ends are marks then.
ALTER TABLE job
    ADD COLUMN compacted    bigint CHECK (compacted >= 0),      -- how many; null: none, the job can be taken up again
    ADD COLUMN compacted_at timestamptz,                        -- when the last of them did
    ADD COLUMN first_start  timestamptz,                        -- of them
    ADD COLUMN done_wall    double precision NOT NULL DEFAULT 0, -- seconds of those that were done
    ADD COLUMN done_count   bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT job_compacted_only_if_final CHECK (compacted IS NULL OR finished_at IS NOT NULL),
    ADD CONSTRAINT job_compacted_at_of_compacted CHECK (compacted_at IS NULL OR compacted IS NOT NULL);
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;

ALTER TABLE item_mark DROP CONSTRAINT item_mark_kind_check,
    ADD CONSTRAINT item_mark_kind_check CHECK (kind IN ('killed', 'blocked', 'complete', 'failed'));

-- The one row of what is gone altogether, so that numbers are not given again and the books still close.
CREATE TABLE removed (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    jobs     bigint  NOT NULL DEFAULT 0,
    attempts bigint  NOT NULL DEFAULT 0,
    last_job bigint  NOT NULL DEFAULT 0
);
INSERT INTO removed DEFAULT VALUES;

-- +goose Down
DROP TABLE removed, usage_day;
DROP INDEX job_finished;
ALTER TABLE item_mark DROP CONSTRAINT item_mark_kind_check;
DELETE FROM item_mark WHERE kind = 'failed';
ALTER TABLE item_mark ADD CONSTRAINT item_mark_kind_check CHECK (kind IN ('killed', 'blocked', 'complete'));
ALTER TABLE job DROP COLUMN compacted, DROP COLUMN compacted_at, DROP COLUMN first_start, DROP COLUMN done_wall,
    DROP COLUMN done_count;
