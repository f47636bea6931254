import { TEXT } from './0001-all-tables.ts'

/** Who did or tried what. Entries are only ever added, and deleted from the beginning because of their age. */
export const audit = /* sql */ `
CREATE TABLE audit (
  seq bigint NOT NULL PRIMARY KEY,
  at_ms bigint NOT NULL,
  operation ${TEXT} NOT NULL,
  who ${TEXT} NOT NULL,
  project ${TEXT},
  result ${TEXT} NOT NULL,
  record ${TEXT} NOT NULL,
  hash ${TEXT} NOT NULL
);
CREATE TABLE audit_chain (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  deleted_seq bigint NOT NULL,
  deleted_hash ${TEXT} NOT NULL,
  newest_seq bigint NOT NULL,
  newest_hash ${TEXT} NOT NULL
);
`
