/** Jobs have environment variables for their runs on the local node. */
export const environmentOfJobs = /* sql */ `
ALTER TABLE jobs ADD COLUMN env TEXT NOT NULL DEFAULT '{}'; -- JSON
`
