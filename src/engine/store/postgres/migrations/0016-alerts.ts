import { TEXT } from './0001-all-tables.ts'

/** Rules of alerts, their episodes and groups, silences; channels are webhooks of other kinds. */
export const alerts = /* sql */ `
CREATE TABLE alert_rules (
  id ${TEXT} NOT NULL PRIMARY KEY,
  settings ${TEXT} NOT NULL,
  revision bigint NOT NULL,
  created_at_ms bigint NOT NULL
);
CREATE TABLE alert_silences (
  id ${TEXT} NOT NULL PRIMARY KEY,
  silence ${TEXT} NOT NULL,
  until_ms bigint NOT NULL
);
CREATE TABLE alerts (
  id ${TEXT} NOT NULL PRIMARY KEY,
  rule_id ${TEXT} NOT NULL,
  project ${TEXT},
  state ${TEXT} NOT NULL,
  severity bigint NOT NULL,
  settled bigint NOT NULL,
  fired_at_ms bigint,
  ended_at_ms bigint,
  acknowledged bigint NOT NULL,
  episode ${TEXT} NOT NULL
);
CREATE INDEX alerts_open ON alerts (settled) WHERE settled = 0;
CREATE INDEX alerts_by_firing ON alerts (fired_at_ms);
CREATE INDEX alerts_by_rule ON alerts (rule_id, ended_at_ms);
CREATE INDEX alerts_by_end ON alerts (ended_at_ms);
CREATE TABLE alert_groups (
  id ${TEXT} NOT NULL PRIMARY KEY,
  alert_group ${TEXT} NOT NULL
);
ALTER TABLE webhooks ADD COLUMN channel ${TEXT};
ALTER TABLE webhooks DROP CONSTRAINT webhooks_kind_check;
ALTER TABLE webhooks ADD CONSTRAINT webhooks_kind_check CHECK (kind IN ('webhook', 'plugin', 'channel'));
`
