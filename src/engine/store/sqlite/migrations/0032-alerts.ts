/** Rules of alerts, their episodes and groups, silences; channels are webhooks of other kinds. */
export const alerts = /* sql */ `
CREATE TABLE alert_rules (
  id TEXT NOT NULL PRIMARY KEY,
  settings TEXT NOT NULL, -- JSON
  revision INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE alert_silences (
  id TEXT NOT NULL PRIMARY KEY,
  silence TEXT NOT NULL, -- JSON
  until_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE alerts (
  id TEXT NOT NULL PRIMARY KEY,
  rule_id TEXT NOT NULL,
  project TEXT, -- null: of no project
  state TEXT NOT NULL, -- pending, firing, calming, resolved
  severity INTEGER NOT NULL, -- 2: critical, 1: warning, 0: info
  settled INTEGER NOT NULL, -- 1: ended, and everybody has been told
  fired_at_ms INTEGER,
  ended_at_ms INTEGER,
  acknowledged INTEGER NOT NULL, -- 1: somebody did
  episode TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX alerts_open ON alerts (settled) WHERE settled = 0;
CREATE INDEX alerts_by_firing ON alerts (fired_at_ms);
CREATE INDEX alerts_by_rule ON alerts (rule_id, ended_at_ms);
CREATE INDEX alerts_by_end ON alerts (ended_at_ms);
CREATE TABLE alert_groups (
  id TEXT NOT NULL PRIMARY KEY,
  alert_group TEXT NOT NULL -- JSON
) STRICT;
ALTER TABLE webhooks ADD COLUMN channel TEXT; -- JSON: where an alert channel sends; null: no alert channel
-- A third kind. To make the table anew would take its deliveries along, which refer to it.
ALTER TABLE webhooks ADD COLUMN kind_anew TEXT NOT NULL DEFAULT 'webhook'
  CHECK (kind_anew IN ('webhook', 'plugin', 'channel'));
UPDATE webhooks SET kind_anew = kind;
ALTER TABLE webhooks DROP COLUMN kind;
ALTER TABLE webhooks RENAME COLUMN kind_anew TO kind;
`
