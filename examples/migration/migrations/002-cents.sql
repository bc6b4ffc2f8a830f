ALTER TABLE orders ADD COLUMN cents INTEGER NOT NULL DEFAULT 0;
UPDATE orders SET cents = round(amount * 100);
ALTER TABLE orders DROP COLUMN amount;
PRAGMA user_version = 2;
