/**
 * Trusts only this certificate (PEM). The names in the certificate do not matter, because only the owner of its key can
 * use it.
 */
export const onlyTrusting = (certificate: string) => ({
  ca: certificate,
  allowPartialTrustChain: true,
  checkServerIdentity: () => undefined
})
