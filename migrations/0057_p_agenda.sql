-- +goose Up

-- The items of a submission that became a job of their own, to be seen first, with the priority and number of instances that were asked for them. '' and 0: none.
ALTER TABLE job ADD COLUMN p_agenda text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN p_agenda_priority bigint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN p_agenda_cpus bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job DROP COLUMN p_agenda, DROP COLUMN p_agenda_priority, DROP COLUMN p_agenda_cpus;
