-- +goose Up

-- Whose events broke the farm's state, each time ending a term: of a host's reports, a user's changes, or the supervisor's own work on
-- a job. After several times such an event is refused for a while. Rows of more than two days ago are deleted.
CREATE TABLE breakage (
    kind  text        NOT NULL CHECK (kind <> ''),
    host  text        NOT NULL,
    job   bigint      NOT NULL,
    owner text        NOT NULL,
    times integer     NOT NULL CHECK (times > 0),
    at    timestamptz NOT NULL,
    cause text        NOT NULL,
    PRIMARY KEY (kind, host, job, owner)
);

-- +goose Down
DROP TABLE breakage;
