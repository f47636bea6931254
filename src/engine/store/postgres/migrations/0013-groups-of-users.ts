import { TEXT } from './0001-all-tables.ts'

/** Groups of users, whose members have their roles in addition to their own, and roles in node groups. */
export const groupsOfUsers = /* sql */ `
CREATE TABLE user_groups (
  id ${TEXT} NOT NULL PRIMARY KEY,
  name ${TEXT} NOT NULL UNIQUE,
  description ${TEXT} NOT NULL,
  role ${TEXT} NOT NULL,
  projects ${TEXT} NOT NULL,
  node_groups ${TEXT} NOT NULL,
  created_at_ms bigint NOT NULL
);
CREATE TABLE group_members (
  group_id ${TEXT} NOT NULL,
  user_id ${TEXT} NOT NULL,
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_by_user ON group_members (user_id);
ALTER TABLE users ADD COLUMN node_groups ${TEXT} NOT NULL DEFAULT '{}';
ALTER TABLE access_tokens ADD COLUMN node_groups ${TEXT};
`
