-- +goose Up

-- Orders that mark items complete or failed without running them.
ALTER TABLE item_order DROP CONSTRAINT item_order_action_check,
    ADD CONSTRAINT item_order_action_check
        CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt', 'preempt', 'complete', 'fail'));

-- +goose Down
ALTER TABLE item_order DROP CONSTRAINT item_order_action_check;
DELETE FROM item_order WHERE action IN ('complete', 'fail');
ALTER TABLE item_order ADD CONSTRAINT item_order_action_check
    CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt', 'preempt'));
