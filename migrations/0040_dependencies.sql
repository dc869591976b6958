-- +goose Up

-- A dependency may name a job by its label within the process group, before or after that job is submitted.
CREATE INDEX job_label ON job (pgrp, label) WHERE label <> '';

-- +goose Down
DROP INDEX job_label;
