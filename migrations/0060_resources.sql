-- +goose Up

-- What is known of resources of the whole farm beside their counts in qb.conf: by the last report how many there are (negative: it
-- did not say) and how many others than the farm use; and how many the farm takes at most until when (negative: no such limit),
-- after items have found none. wait is for how many seconds that holds, probed that the farm has tried one more since.
CREATE TABLE resource (
    name          text             PRIMARY KEY CHECK (name <> ''),
    total         bigint           NOT NULL,
    outside       bigint           NOT NULL CHECK (outside >= 0),
    by            text             NOT NULL,
    reported_at   timestamptz,
    lowered       bigint           NOT NULL,
    lowered_until timestamptz,
    wait          double precision NOT NULL CHECK (wait >= 0),
    probed        boolean          NOT NULL
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE resource;
