/** What nobody else keeps of the past, so that a rule of alerts can be tried on it; and when reports were told. */
export const factsOfThePast = /* sql */ `
CREATE TABLE alert_facts (
  id INTEGER PRIMARY KEY,
  watch TEXT NOT NULL,
  key TEXT NOT NULL,
  value REAL, -- null: it is not there any more
  since_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  labels TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX alert_facts_of_watch ON alert_facts (watch, at_ms, id);
CREATE INDEX alert_facts_by_time ON alert_facts (at_ms);
CREATE TABLE alert_digests (
  channel_id TEXT NOT NULL PRIMARY KEY,
  settings TEXT NOT NULL, -- JSON: other settings begin anew
  told_ms INTEGER NOT NULL -- which due time was told last
) STRICT;
`
