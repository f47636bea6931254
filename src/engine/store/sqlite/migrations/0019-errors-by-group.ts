/** Groups with short ids, and where and when their errors were seen, counted as they are recorded. */
export const errorsByGroup = /* sql */ `
CREATE TABLE moved_groups AS SELECT * FROM error_groups;
CREATE TABLE moved_occurrences AS SELECT * FROM error_occurrences;
DROP TABLE error_occurrences;
DROP TABLE error_groups;

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

INSERT INTO error_groups (project, fingerprint, title, culprit, exception_type, because, state, state_at_ms,
    reopened_at_ms, first_seen_ms, last_seen_ms, first_version, count, job_count)
  SELECT project, fingerprint, title, culprit, exception_type, because, state, state_at_ms, reopened_at_ms,
    first_seen_ms, last_seen_ms, first_version, count, job_count FROM moved_groups;
INSERT INTO error_occurrences (group_id, job_id, attempt_number, spider, version, node_id, count, first_seen_ms,
    last_seen_ms, line, offset, message)
  SELECT grouped.id, job_id, attempt_number, spider, version, node_id, moved.count, moved.first_seen_ms,
    moved.last_seen_ms, line, offset, message
  FROM moved_occurrences AS moved
  JOIN moved_groups AS before ON before.id = moved.group_id
  JOIN error_groups AS grouped ON grouped.project = before.project AND grouped.fingerprint = before.fingerprint;
INSERT INTO error_spread (group_id, kind, value, count, run_count, first_seen_ms, last_seen_ms)
  SELECT group_id, 'spider', spider, sum(count), count(*), min(first_seen_ms), max(last_seen_ms)
    FROM error_occurrences GROUP BY group_id, spider
  UNION ALL SELECT group_id, 'version', version, sum(count), count(*), min(first_seen_ms), max(last_seen_ms)
    FROM error_occurrences GROUP BY group_id, version
  UNION ALL SELECT group_id, 'node', node_id, sum(count), count(*), min(first_seen_ms), max(last_seen_ms)
    FROM error_occurrences GROUP BY group_id, node_id;
INSERT INTO error_hours (group_id, hour, count)
  SELECT group_id, last_seen_ms / 3600000, sum(count) FROM error_occurrences GROUP BY 1, 2;
DROP TABLE moved_occurrences;
DROP TABLE moved_groups;
`
