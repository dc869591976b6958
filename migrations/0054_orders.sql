-- +goose Up

-- All orders that may take more than one commit.
ALTER TABLE item_order DROP CONSTRAINT item_order_action_check,
    ADD CONSTRAINT item_order_action_check
        CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt', 'preempt', 'complete', 'fail', 'suspend', 'resume', 'migrate', 'retire'));

-- +goose Down
ALTER TABLE item_order DROP CONSTRAINT item_order_action_check;
DELETE FROM item_order WHERE action IN ('suspend', 'resume', 'migrate', 'retire');
ALTER TABLE item_order ADD CONSTRAINT item_order_action_check
    CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt', 'preempt', 'complete', 'fail'));
