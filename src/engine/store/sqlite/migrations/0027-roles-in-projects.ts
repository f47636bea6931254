/** Users with roles in some projects, and tokens for some projects. The `role` of a user without one is 'none'. */
export const rolesInProjects = /* sql */ `
ALTER TABLE users ADD COLUMN projects TEXT NOT NULL DEFAULT '{}'; -- JSON: roles by project
ALTER TABLE access_tokens ADD COLUMN projects TEXT; -- JSON: names; null: all
`
