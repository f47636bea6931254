import { TEXT } from './0001-all-tables.ts'

/** Roles that owners made, as sets of permissions. Users and tokens name them, as they name the built-in ones. */
export const customRoles = /* sql */ `
CREATE TABLE custom_roles (
  name ${TEXT} NOT NULL PRIMARY KEY,
  description ${TEXT} NOT NULL,
  permissions ${TEXT} NOT NULL,
  created_at_ms bigint NOT NULL
);
`
