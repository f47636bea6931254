/** People whom an identity provider or a proxy vouches for: who they are there, and until when their tokens count. */
export const usersFromElsewhere = /* sql */ `
ALTER TABLE users ADD COLUMN subject TEXT; -- null: a user of this Scrapdeck itself
ALTER TABLE users ADD COLUMN vouched_at_ms INTEGER;
CREATE UNIQUE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;
`
