/**
 * Backfills, node sources (with the nodes they no longer list), limits and reported problems were JSON texts among the
 * settings. They become rows with revisions; the settings keep only single values, as JSON.
 */
export const nounsOfTheirOwn = /* sql */ `
-- The newest of each schedule.
CREATE TABLE backfills (
  schedule_id TEXT NOT NULL PRIMARY KEY REFERENCES schedules (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  id TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('oldest_first', 'newest_first')),
  concurrency INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled')),
  total INTEGER NOT NULL,
  -- As they were when this was written: while it is under way they are counted from its firings.
  fired INTEGER NOT NULL,
  failed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The oldest texts have no counts.
INSERT OR REPLACE INTO backfills
  SELECT one.value ->> 'scheduleId', 1, one.value ->> 'id', one.value ->> 'fromMs', one.value ->> 'untilMs', one.value ->> 'order',
    one.value ->> 'concurrency', one.value ->> 'state', one.value ->> 'total',
    coalesce(one.value ->> 'fired', iif(one.value ->> 'state' = 'done', one.value ->> 'total', 0)), coalesce(one.value ->> 'failed', 0)
  FROM settings JOIN json_each(settings.value) AS one
  WHERE settings.key = 'schedules.backfills' AND one.value ->> 'scheduleId' IN (SELECT id FROM schedules);

CREATE TABLE discovery_sources (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  revision INTEGER NOT NULL,
  settings TEXT NOT NULL, -- JSON
  sealed_password TEXT
) STRICT;
INSERT INTO discovery_sources (id, revision, settings, sealed_password)
  SELECT one.value ->> '$.settings.id', 1, one.value -> '$.settings', one.value ->> 'sealedPassword'
  FROM settings JOIN json_each(settings.value) AS one WHERE settings.key = 'discovery.sources' ORDER BY one.key;

-- Nodes that their source named before and does not now.
CREATE TABLE vanished_nodes (
  node_id TEXT NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('cordoning', 'cordoned', 'left'))
) STRICT, WITHOUT ROWID;
INSERT INTO vanished_nodes
  SELECT one.key, one.value ->> 'sinceMs', one.value ->> 'state'
  FROM settings JOIN json_each(settings.value) AS one WHERE settings.key = 'discovery.vanished';

CREATE TABLE limit_rules (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT,
  spider TEXT,
  tag TEXT,
  per_node INTEGER NOT NULL,
  max INTEGER NOT NULL
) STRICT;
INSERT INTO limit_rules (id, project, spider, tag, per_node, max)
  SELECT one.value ->> 'id', one.value ->> 'project', one.value ->> 'spider', one.value ->> 'tag', one.value ->> 'perNode',
    one.value ->> 'max'
  FROM settings JOIN json_each(settings.value) AS one WHERE settings.key = 'queue.limits' ORDER BY one.key;
-- Of all rules together, which are replaced as a whole: one row.
CREATE TABLE limit_revision (revision INTEGER NOT NULL) STRICT;
INSERT INTO limit_revision SELECT count(*) FROM settings WHERE key = 'queue.limits';

-- Problems that were raised, and not resolved since, as it was told to plugins.
CREATE TABLE told_problems (
  id TEXT NOT NULL PRIMARY KEY,
  title TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning'))
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO told_problems
  SELECT one.value ->> 'id', one.value ->> 'title', one.value ->> 'severity'
  FROM settings JOIN json_each(settings.value) AS one WHERE settings.key = 'alerts.told';

DELETE FROM settings
  WHERE key IN ('schedules.backfills', 'discovery.sources', 'discovery.vanished', 'queue.limits', 'alerts.told');
UPDATE settings SET value = iif(value = 'yes', 'true', 'false') WHERE key = 'paused';
`
