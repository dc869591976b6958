-- +goose Up

-- What jobs of one kind have taught of the memory and time of their items. lessons: [{"job", "ended_at", "items", "memory",
-- "seconds"}] of the jobs that ended last. memory and seconds are set by a person, 0: they are not; only jobs with numbers above
-- memory_after and seconds_after teach them.
CREATE TABLE profile (
    owner         text             NOT NULL CHECK (owner <> ''),
    name          text             NOT NULL CHECK (name <> ''),
    lessons       jsonb            NOT NULL CHECK (jsonb_typeof(lessons) = 'array' AND jsonb_array_length(lessons) <= 8),
    memory        bigint           NOT NULL CHECK (memory >= 0),
    memory_after  bigint           NOT NULL,
    seconds       double precision NOT NULL CHECK (seconds >= 0),
    seconds_after bigint           NOT NULL,
    by            text             NOT NULL,
    at            timestamptz      NOT NULL, -- when a job of it ended last, or a person changed it
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 50);

-- The profile that a job belongs to, among those of its owner; '': none.
ALTER TABLE job ADD COLUMN profile text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN profile;
DROP TABLE profile;
