/**
 * What the log of a run said, and its errors, the same ones of all runs together: where and when they were seen is
 * counted as they are recorded.
 */
export const whatLogsSay = /* sql */ `
-- Scrapyd's jobs_to_keep: how many logs of a spider the node keeps; null: not known.
ALTER TABLE nodes ADD COLUMN logs_kept INTEGER;

CREATE TABLE run_figures (
  id INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  figures TEXT NOT NULL, -- JSON (understanding/stored-figures.ts)
  UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;

CREATE TABLE error_groups (
  id INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  title TEXT NOT NULL,
  culprit TEXT NOT NULL,
  exception_type TEXT,
  because TEXT NOT NULL, -- frames, exception, message
  state TEXT NOT NULL, -- open, resolved, ignored
  state_at_ms INTEGER,
  reopened_at_ms INTEGER,
  first_seen_ms INTEGER NOT NULL,
  last_seen_ms INTEGER NOT NULL,
  first_version TEXT NOT NULL,
  count INTEGER NOT NULL,
  job_count INTEGER NOT NULL,
  UNIQUE (project, fingerprint)
) STRICT;
CREATE INDEX error_groups_by_last_seen ON error_groups (last_seen_ms);
CREATE INDEX error_groups_of_project ON error_groups (project, last_seen_ms);

-- How often one run logged it.
CREATE TABLE error_occurrences (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE,
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  spider TEXT NOT NULL,
  version TEXT NOT NULL,
  node_id TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  last_seen_ms INTEGER NOT NULL,
  line INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (group_id, job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX error_occurrences_by_job ON error_occurrences (job_id, attempt_number);
CREATE INDEX error_occurrences_newest ON error_occurrences (group_id, last_seen_ms);

-- In which spiders, in which versions and on which nodes; occurrences are too many to be counted for a list.
CREATE TABLE error_spread (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE,
  kind TEXT NOT NULL, -- spider, version, node
  value TEXT NOT NULL,
  count INTEGER NOT NULL,
  run_count INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  last_seen_ms INTEGER NOT NULL,
  PRIMARY KEY (group_id, kind, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE error_hours (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE,
  hour INTEGER NOT NULL, -- since 1970
  count INTEGER NOT NULL,
  PRIMARY KEY (group_id, hour)
) STRICT, WITHOUT ROWID;
`
