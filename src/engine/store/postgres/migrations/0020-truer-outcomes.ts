/** Jobs may end as `unclear`. Not checked for the rows that are there: all are of the outcomes from before. */
export const truerOutcomes = /* sql */ `
ALTER TABLE jobs DROP CONSTRAINT jobs_outcome_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_outcome_check
  CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear')) NOT VALID;
ALTER TABLE attempts DROP CONSTRAINT attempts_result_check;
ALTER TABLE attempts ADD CONSTRAINT attempts_result_check
  CHECK (result IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear', 'refused', 'absent')) NOT VALID;

-- The rule "no response at all" is on for new projects: those that are there get settings of their own, without it.
INSERT INTO project_settings SELECT project, '{"python":{"kind":"default"},"limits":null}'
  FROM (SELECT project FROM versions UNION SELECT project FROM job_counts) AS projects
  WHERE project NOT IN (SELECT project FROM project_settings);
`
