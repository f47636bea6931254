import { TEXT } from './0001-all-tables.ts'

/** Nodes that pull their jobs authenticate with a token of their own. */
export const nodesThatPull = /* sql */ `
ALTER TABLE nodes ADD COLUMN token_hash ${TEXT};
`
