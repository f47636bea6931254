/** By which each engine is recognized that speaks TLS (PEM): the others trust it alone. Empty: plain HTTP. */
export const certificatesOfEngines = `
ALTER TABLE engines ADD COLUMN certificate text NOT NULL DEFAULT '';
`
