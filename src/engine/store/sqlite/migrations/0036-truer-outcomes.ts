/**
 * Jobs may end as `unclear`. A CHECK changes nothing of what is stored, so that its text is changed as SQLite's manual
 * says (https://sqlite.org/lang_altertable.html, 7), and a million jobs are not written anew.
 */
export const truerOutcomes = /* sql */ `
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''cancelled'', ''lost''', '''cancelled'', ''lost'', ''unclear''')
  WHERE type = 'table' AND name IN ('jobs', 'attempts');
PRAGMA writable_schema = RESET;

-- The rule "no response at all" is on for new projects: those that are there get settings of their own, without it.
INSERT INTO project_settings SELECT project, '{"python":{"kind":"default"},"limits":null}'
  FROM (SELECT project FROM versions UNION SELECT project FROM job_counts)
  WHERE project NOT IN (SELECT project FROM project_settings);
`
