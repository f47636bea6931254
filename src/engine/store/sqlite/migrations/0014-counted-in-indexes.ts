/**
 * Indexes of real columns instead of `status`, which is computed from them: SQLite takes no index as covering for a
 * query that names a computed column, so every job that was counted or walked over was read from the table.
 */
export const countedInIndexes = /* sql */ `
DROP INDEX jobs_listed;
CREATE INDEX jobs_listed ON jobs (project, spider, state, outcome, id);
DROP INDEX jobs_on_node;
CREATE INDEX jobs_on_node ON jobs (node_id, project, spider, state, outcome, id) WHERE node_id IS NOT NULL;
-- Few of many jobs, and what operators look for: without it, a page of them merges every kind of job.
CREATE INDEX jobs_ended_badly ON jobs (outcome, id) WHERE outcome IN ('failed', 'cancelled', 'lost');
`
