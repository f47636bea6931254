/** What a node that is a Kubernetes cluster has besides its address, as JSON. */
export const kubernetesNodes = /* sql */ `
ALTER TABLE nodes ADD COLUMN kubernetes TEXT;
`
