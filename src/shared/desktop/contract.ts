import { eventIterator, oc } from '@orpc/contract'
import { z } from 'zod'

/** What the desktop app itself does for its page, beside any engine: the list of remote engines. Never over HTTP. */

export const ENGINE_COLOURS = ['blue', 'teal', 'green', 'orange', 'red', 'violet', 'grey'] as const

const ADDRESS_MAX = 2_000
const SECRET_MAX = 4_000

/** Without credentials, query and fragment: those are entered, or not sent at all. */
const Address = z
  .string()
  .trim()
  .max(ADDRESS_MAX)
  .regex(/^https?:\/\/[^/?#@\s]+(\/[^?#@\s]*)?$/, 'must be http://HOST:PORT or https://HOST, without a password')
  .pipe(z.url('must be http://HOST:PORT or https://HOST'))

export const EngineCredentials = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('token'), token: z.string().trim().min(1).max(SECRET_MAX) }),
  z.object({
    kind: z.literal('password'),
    username: z.string().trim().min(1).max(200),
    password: z.string().min(1).max(SECRET_MAX)
  })
])
export type EngineCredentials = z.infer<typeof EngineCredentials>

/** SHA-256 as pairs of capitals: `AB:CD:…`. */
const Fingerprint = z.string().regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)

export const EngineSettings = z.object({
  name: z.string().trim().min(1, 'must not be empty').max(60),
  url: Address,
  colour: z.enum(ENGINE_COLOURS),
  /** Nothing is changed there from this computer. */
  readOnly: z.boolean()
})
export type EngineSettings = z.infer<typeof EngineSettings>

export const SeenCertificate = z.object({
  fingerprint: Fingerprint,
  subject: z.string(),
  issuer: z.string(),
  validUntilMs: z.number()
})
export type SeenCertificate = z.infer<typeof SeenCertificate>

export const RemoteEngine = EngineSettings.extend({
  id: z.uuid(),
  signsInWith: z.enum(['token', 'password']),
  /** null with a token. */
  username: z.string().nullable(),
  /** The fingerprint of the only certificate that is trusted there; null: the system's authorities decide. */
  pinned: Fingerprint.nullable(),
  /** `refused`: it responds, but not to these credentials or with another certificate. */
  state: z.enum(['connecting', 'live', 'offline', 'refused']),
  sinceMs: z.number(),
  /** Why it is offline or refused, and what to do. */
  problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** As of the last contact; null: none yet. */
  version: z.string().nullable(),
  /** Compared with this app. */
  age: z.enum(['same', 'older', 'newer']).nullable(),
  /** Operations of this app that an older engine does not have: `webhooks.list`. */
  lacks: z.array(z.string())
})
export type RemoteEngine = z.infer<typeof RemoteEngine>

const EngineId = z.object({ id: z.uuid() })
/** The certificate that the user has seen and trusts; null: only what the system trusts. */
const Trusted = { trusted: Fingerprint.nullable().default(null) }

export const desktopContract = {
  engines: {
    /** The list now, and after each change of it or of a state. */
    watch: oc.output(eventIterator(z.object({ appVersion: z.string(), engines: z.array(RemoteEngine) }))),
    /**
     * Connects before it is saved. Rejects with ENGINE_CERTIFICATE_UNTRUSTED, with the certificate in `data`, if the
     * system does not trust it and it is not the trusted one.
     */
    add: oc.input(EngineSettings.extend({ credentials: EngineCredentials, ...Trusted })).output(RemoteEngine),
    /** Without credentials the earlier ones stay, unless the address is another: they are not sent there. */
    update: oc
      .input(EngineSettings.extend({ ...EngineId.shape, credentials: EngineCredentials.nullable(), ...Trusted }))
      .output(RemoteEngine),
    remove: oc.input(EngineId).output(z.object({})),
    /** Connects now instead of after a while. */
    retry: oc.input(EngineId).output(z.object({})),
    /** Opens the engine's own UI in the browser, where one logs in. */
    openUi: oc.input(EngineId).output(z.object({}))
  }
}
