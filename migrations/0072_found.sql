-- +goose Up

-- Expressions for lines of output that are kept with an attempt, and for paths of what it has written; one in each line.
ALTER TABLE job ADD COLUMN regex_highlights text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN regex_outputpaths text NOT NULL DEFAULT '';

-- What they have found in the output of an attempt. Few attempts have such a row, and a takeover reads none.
CREATE TABLE attempt_found (
    job         bigint  NOT NULL,
    item        integer NOT NULL,
    number      integer NOT NULL,
    highlights  text[]  NOT NULL,
    outputpaths text[]  NOT NULL,
    PRIMARY KEY (job, item, number),
    FOREIGN KEY (job, item, number) REFERENCES attempt (job, item, number) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE attempt_found;
ALTER TABLE job DROP COLUMN regex_highlights, DROP COLUMN regex_outputpaths;
