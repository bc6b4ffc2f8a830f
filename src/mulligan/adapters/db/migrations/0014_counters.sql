-- Numbers that are never given twice, also where what had the last one is forgotten.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    used BIGINT NOT NULL -- the last number that was given
);
INSERT INTO counters (name, used) SELECT 'entries', COALESCE(MAX(number), 0) FROM entries;
