/** What users have beside or in place of a password: an authenticator app with recovery codes, and passkeys. */
export const secondFactors = /* sql */ `
CREATE TABLE authenticators (
  user_id TEXT NOT NULL PRIMARY KEY,
  sealed_secret TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  used_step INTEGER NOT NULL -- time step of the last code; no code of it or an earlier one counts again
) STRICT;
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE passkeys (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  credential_id TEXT NOT NULL UNIQUE, -- as the authenticator calls it
  name TEXT NOT NULL,
  host TEXT NOT NULL, -- the only one at which it works
  public_key TEXT NOT NULL,
  sign_count INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user_id);
`
