/** Groups of users, whose members have their roles in addition to their own, and roles in node groups. */
export const groupsOfUsers = /* sql */ `
CREATE TABLE user_groups (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  role TEXT NOT NULL, -- 'none': only those in projects and node groups
  projects TEXT NOT NULL, -- JSON: roles by project
  node_groups TEXT NOT NULL, -- JSON: roles by tag
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE group_members (
  group_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_members_by_user ON group_members (user_id);
ALTER TABLE users ADD COLUMN node_groups TEXT NOT NULL DEFAULT '{}'; -- JSON: roles by tag
ALTER TABLE access_tokens ADD COLUMN node_groups TEXT; -- JSON: tags; null: all
`
