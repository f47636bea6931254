import { TEXT } from './0001-all-tables.ts'

/** What users have beside or in place of a password: an authenticator app with recovery codes, and passkeys. */
export const secondFactors = /* sql */ `
CREATE TABLE authenticators (
  user_id ${TEXT} NOT NULL PRIMARY KEY,
  sealed_secret ${TEXT} NOT NULL,
  created_at_ms bigint NOT NULL,
  used_step bigint NOT NULL
);
CREATE TABLE recovery_codes (
  user_id ${TEXT} NOT NULL,
  hash ${TEXT} NOT NULL,
  PRIMARY KEY (user_id, hash)
);
CREATE TABLE passkeys (
  id ${TEXT} NOT NULL PRIMARY KEY,
  user_id ${TEXT} NOT NULL,
  credential_id ${TEXT} NOT NULL UNIQUE,
  name ${TEXT} NOT NULL,
  host ${TEXT} NOT NULL,
  public_key ${TEXT} NOT NULL,
  sign_count bigint NOT NULL,
  created_at_ms bigint NOT NULL,
  last_used_at_ms bigint
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);
`
