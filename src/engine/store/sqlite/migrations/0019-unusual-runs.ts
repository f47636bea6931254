/** What is unusual about the newest successful run of a spider (expectations). */
export const unusualRuns = /* sql */ `
CREATE TABLE spider_findings (
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  ended_at_ms INTEGER NOT NULL,
  findings TEXT NOT NULL, -- JSON
  dismissed INTEGER NOT NULL,
  PRIMARY KEY (project, spider)
) STRICT, WITHOUT ROWID;
CREATE INDEX spider_findings_by_job ON spider_findings (job_id);
`
