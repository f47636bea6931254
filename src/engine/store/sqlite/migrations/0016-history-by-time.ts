/** Counts ended jobs by stretches of time, so that facets since a time count few jobs one by one (counters.ts). */
export const historyByTime = /* sql */ `
CREATE TABLE ended_counts (
  from_id TEXT NOT NULL, -- of ids from this one up to the next multiple of 2^27 ms: five digits, and 0 or 8
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  status TEXT NOT NULL,
  node_id TEXT NOT NULL, -- '' where the job has had no node
  count INTEGER NOT NULL,
  PRIMARY KEY (from_id, project, spider, status, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO ended_counts
  SELECT substr(id, 1, 5) || iif(substr(id, 6, 1) < '8', '0', '8'), project, spider, outcome, coalesce(node_id, ''), count(*)
  FROM jobs WHERE state = 'ended' GROUP BY 1, 2, 3, 4, 5;
`
