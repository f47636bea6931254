/** As SQLite's 0024. */
export const kubernetesNodes = `
ALTER TABLE nodes ADD COLUMN kubernetes text COLLATE "C";
`
