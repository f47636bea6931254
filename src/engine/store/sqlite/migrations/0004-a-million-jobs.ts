/**
 * Reduces the cost per job to what is affordable for a million jobs. Each write sums up the counters (counters.ts)
 * instead of triggers per row; one index by project, spider and status serves every list of jobs (job-list.ts); and a
 * job's `queued` entry is in the job's own row instead of a separate one.
 */
export const aMillionJobs = /* sql */ `
DROP TRIGGER jobs_count_insert;
DROP TRIGGER jobs_count_update;
DROP TRIGGER jobs_lane_insert;
DROP TRIGGER jobs_lane_enter;
DROP TRIGGER jobs_lane_leave;
DROP INDEX jobs_needing;
DROP INDEX jobs_by_status;
DROP INDEX jobs_by_project;
DROP INDEX jobs_by_spider;
DROP INDEX jobs_by_node;
-- null: its first entry is a row of transitions, as all were before.
ALTER TABLE jobs ADD COLUMN asked_text TEXT;
ALTER TABLE jobs ADD COLUMN asked_evidence TEXT;
CREATE INDEX jobs_listed ON jobs (project, spider, status, id);
CREATE INDEX jobs_on_node ON jobs (node_id, project, spider, status, id) WHERE node_id IS NOT NULL;

DROP TABLE facet_counts;
-- How many jobs there are of each kind: what lists and facets are planned from. Kinds without jobs are left out.
CREATE TABLE job_counts (
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  status TEXT NOT NULL,
  node_id TEXT NOT NULL, -- '' where the job has had no node
  count INTEGER NOT NULL,
  PRIMARY KEY (project, spider, status, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO job_counts
  SELECT project, spider, status, coalesce(node_id, ''), count(*) FROM jobs GROUP BY 1, 2, 3, 4;
`
