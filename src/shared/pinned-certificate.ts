/**
 * The options of a TLS connection that trusts only this certificate (PEM). Only the owner of its key is accepted, so
 * the names in it do not matter.
 */
export const onlyTrusting = (certificate: string) => ({
  ca: certificate,
  allowPartialTrustChain: true,
  checkServerIdentity: () => undefined
})
