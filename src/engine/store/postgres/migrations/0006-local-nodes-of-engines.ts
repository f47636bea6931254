/** An engine of an earlier version has none that others can use. */
export const localNodesOfEngines = `
ALTER TABLE engines ADD COLUMN has_local_node boolean NOT NULL DEFAULT false;
`
