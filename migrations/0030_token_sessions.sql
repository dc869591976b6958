-- +goose Up

-- The credential that a session of the page was begun with: a token's id, or "user NAME" of the unix socket. A session ends with
-- that token.
ALTER TABLE token ADD COLUMN session_of text NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM token WHERE session_of <> ''; -- an earlier qb would let them outlive that token
ALTER TABLE token DROP COLUMN session_of;
