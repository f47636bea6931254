/** Who did or tried what. Entries are only ever added, and deleted from the beginning because of their age. */
export const audit = /* sql */ `
CREATE TABLE audit (
  seq INTEGER NOT NULL PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  operation TEXT NOT NULL,
  who TEXT NOT NULL,
  project TEXT,
  result TEXT NOT NULL,
  record TEXT NOT NULL, -- JSON: all that is hashed
  hash TEXT NOT NULL -- SHA-256 of the hash before it and the record
) STRICT;
-- Where the log begins and ends: one row, once there is an entry.
CREATE TABLE audit_chain (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  deleted_seq INTEGER NOT NULL,
  deleted_hash TEXT NOT NULL,
  newest_seq INTEGER NOT NULL,
  newest_hash TEXT NOT NULL
) STRICT;
`
