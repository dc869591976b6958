-- +goose Up

-- What a job's texts take, ended or not, as farm.JobFacts.Stored reckons it: one user's are limited together.
ALTER TABLE job ADD COLUMN bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0);
UPDATE job SET bytes = 1000 + octet_length(name) + octet_length(cwd) + octet_length(agenda::text) + octet_length(dependency) +
    octet_length(cluster) + octet_length(account) + coalesce(octet_length(submission), 0) +
    octet_length(requirements) + octet_length(reservations) + octet_length(restrictions) + octet_length(host_order) +
    octet_length(array_to_string(command || hosts || omit_hosts || groups || omit_groups || flags, '')) +
    16 * cardinality(command || hosts || omit_hosts || groups || omit_groups || flags) +
    octet_length(env::text);
ALTER TABLE job ALTER COLUMN bytes DROP DEFAULT;

DROP INDEX job_owner;
CREATE INDEX job_owner ON job (owner, id) INCLUDE (bytes);

-- +goose Down
DROP INDEX job_owner;
ALTER TABLE job DROP COLUMN bytes;
CREATE INDEX job_owner ON job (owner, id);
