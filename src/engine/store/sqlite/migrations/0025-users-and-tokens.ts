/** People and programs with a role of their own, and the tokens that they send instead of a password. */
export const usersAndTokens = /* sql */ `
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('person', 'service')),
  role TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  password_hash TEXT, -- null: cannot log in
  created_at_ms INTEGER NOT NULL,
  sessions_since_ms INTEGER NOT NULL, -- earlier ones have ended
  last_seen_at_ms INTEGER
) STRICT;
CREATE TABLE access_tokens (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT, -- null: of the service's own password
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, -- SHA-256
  ending TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  last_used_at_ms INTEGER
) STRICT;
`
