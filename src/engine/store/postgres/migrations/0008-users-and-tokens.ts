import { TEXT } from './0001-all-tables.ts'

/** People and programs with a role of their own, and the tokens that they send instead of a password. */
export const usersAndTokens = /* sql */ `
CREATE TABLE users (
  id ${TEXT} NOT NULL PRIMARY KEY,
  name ${TEXT} NOT NULL UNIQUE,
  kind ${TEXT} NOT NULL CHECK (kind IN ('person', 'service')),
  role ${TEXT} NOT NULL,
  enabled bigint NOT NULL,
  password_hash ${TEXT},
  created_at_ms bigint NOT NULL,
  sessions_since_ms bigint NOT NULL,
  last_seen_at_ms bigint
);
CREATE TABLE access_tokens (
  id ${TEXT} NOT NULL PRIMARY KEY,
  user_id ${TEXT},
  name ${TEXT} NOT NULL,
  role ${TEXT} NOT NULL,
  hash ${TEXT} NOT NULL UNIQUE,
  ending ${TEXT} NOT NULL,
  created_at_ms bigint NOT NULL,
  expires_at_ms bigint,
  last_used_at_ms bigint
);
`
