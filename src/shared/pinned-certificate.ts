/**
 * The options of a TLS connection that trusts this certificate alone (PEM): only whoever has its key is let in, so that
 * the names in it do not matter.
 */
export const onlyTrusting = (certificate: string) => ({
  ...{ ca: certificate, allowPartialTrustChain: true },
  checkServerIdentity: () => undefined
})
