/** The default of authenticator apps (RFC 6238). */
const PERIOD_SECONDS = 30
const DIGITS = 6
const SECRET_BYTES = 20
/** Clocks of phones: one step before and one after. */
const WINDOW = 1
const ISSUER = 'Scrapdeck'

const CODE = new RegExp(`^\\d{${DIGITS}}$`)

/** What an app needs: the secret as text, as an address, and that as an image. */
export interface SecretForApp {
  secret: string
  uri: string
  qrCode: string
}

/** `label`: what the app shows beside its codes, such as `anna (deck.example.org)`. */
export async function createSecret(label: string): Promise<SecretForApp> {
  const [{ Secret, TOTP }, { renderSVG }] = await Promise.all([import('otpauth'), import('uqr')])
  const secret = new Secret({ size: SECRET_BYTES })
  const uri = new TOTP({ issuer: ISSUER, label, secret, digits: DIGITS, period: PERIOD_SECONDS }).toString()
  return { secret: secret.base32, uri, qrCode: renderSVG(uri, { pixelSize: 4, border: 3 }) }
}

/** Which time step a code is of; null: of none near this time. It may have been used already. */
export async function stepOf(code: string, secret: string, nowMs: number): Promise<number | null> {
  const digits = code.replaceAll(/\s/g, '')
  if (!CODE.test(digits)) return null
  const { Secret, TOTP } = await import('otpauth')
  const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: DIGITS, period: PERIOD_SECONDS })
  const delta = totp.validate({ token: digits, timestamp: nowMs, window: WINDOW })
  return delta === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta
}
