/** Where each engine keeps eggs and logs: those of one database need the same place. */
export const placesOfBlobs = `
ALTER TABLE engines ADD COLUMN blobs text NOT NULL DEFAULT '';
`
