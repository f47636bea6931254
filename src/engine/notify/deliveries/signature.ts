import { createHmac } from 'node:crypto'
import type { Random } from '../../runtime/random.ts'

// Standard Webhooks (standardwebhooks.com)

const SECRET_PREFIX = 'whsec_'
/** The length of a secret. The specification requires 24 to 64 bytes. */
const SECRET_BYTES = 32

/** `whsec_` and the key in base64. */
export function makeSecret(random: Random): string {
  return SECRET_PREFIX + Buffer.from(random.hex(SECRET_BYTES), 'hex').toString('base64')
}

/**
 * The headers of one attempt. Every attempt of a delivery has the same `id` but its own timestamp. While a secret is
 * being rotated, there is one signature per secret. Receivers accept a message if one of its signatures is valid.
 */
export function signedHeaders(message: {
  id: string
  atMs: number
  body: string
  secrets: readonly string[]
}): Record<string, string> {
  const timestamp = String(Math.floor(message.atMs / 1000))
  const signed = `${message.id}.${timestamp}.${message.body}`
  const signatures = message.secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(signed, 'utf8').digest('base64')}`
  })
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' ')
  }
}
