import { TEXT } from './0001-all-tables.ts'

/** People whom an identity provider or a proxy vouches for: who they are there, and until when their tokens count. */
export const usersFromElsewhere = /* sql */ `
ALTER TABLE users ADD COLUMN subject ${TEXT} UNIQUE;
ALTER TABLE users ADD COLUMN vouched_at_ms bigint;
`
