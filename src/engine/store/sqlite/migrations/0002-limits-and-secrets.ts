/** Limits, secret names, resource usage of runs, and project settings. */
export const limitsAndSecrets = `
ALTER TABLE jobs ADD COLUMN secret_names TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN limits TEXT;
ALTER TABLE attempts ADD COLUMN limit_hit TEXT;
ALTER TABLE attempts ADD COLUMN peak_memory_bytes INTEGER;
ALTER TABLE attempts ADD COLUMN cpu_seconds REAL;

-- Without a reference to versions: settings outlive them.
CREATE TABLE project_settings (project TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL) STRICT;
`
