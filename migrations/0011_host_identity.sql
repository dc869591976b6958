-- +goose Up

-- The public key in a worker's state folder, in hex: who a host is, whatever its name. '' for hosts whose worker has
-- not enrolled yet, and for tokens that are not bound to a host.
ALTER TABLE host ADD COLUMN key text NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN host_key text NOT NULL DEFAULT '';
CREATE INDEX token_host_key ON token (host_key) WHERE host_key <> '';

-- +goose Down
DROP INDEX token_host_key;
ALTER TABLE token DROP COLUMN host_key;
ALTER TABLE host DROP COLUMN key;
