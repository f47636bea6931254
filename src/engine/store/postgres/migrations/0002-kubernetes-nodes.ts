/** As SQLite's 0023. */
export const kubernetesNodes = `
ALTER TABLE nodes ADD COLUMN kubernetes text COLLATE "C";
`
