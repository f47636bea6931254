import { eventIterator, oc } from '@orpc/contract'
import { z } from 'zod'
import { readSshAddress } from '../ssh-address.ts'

/** Operations of the desktop app for its page: the list of remote engines. They are not available over HTTP. */

export const ENGINE_COLOURS = ['blue', 'teal', 'green', 'orange', 'red', 'violet', 'grey'] as const

const ADDRESS_MAX = 2_000
const SECRET_MAX = 4_000

const PLAIN_ADDRESS = /^https?:\/\/[^/?#@\s]+(\/[^?#@\s]*)?$/
const HOW_TO_WRITE =
  'must be http://HOST:PORT, https://HOST or ssh://USER@HOST/http://127.0.0.1:6800, without a password'

/** An address without credentials, query or fragment. Behind an SSH host, it is the address as seen from that host. */
const Address = z
  .string()
  .trim()
  .max(ADDRESS_MAX)
  .superRefine((text, context) => {
    const read = readSshAddress(text)
    if (typeof read === 'string') return void context.addIssue({ code: 'custom', message: read })
    const inner = read?.inner ?? text
    if (PLAIN_ADDRESS.test(inner) && z.url().safeParse(inner).success) return
    context.addIssue({ code: 'custom', message: HOW_TO_WRITE })
  })

const TokenCredentials = z.object({ kind: z.literal('token'), token: z.string().trim().min(1).max(SECRET_MAX) })
const PasswordCredentials = z.object({
  kind: z.literal('password'),
  username: z.string().trim().min(1).max(200),
  password: z.string().min(1).max(SECRET_MAX)
})

export const EngineCredentials = z.discriminatedUnion('kind', [TokenCredentials, PasswordCredentials])
export type EngineCredentials = z.infer<typeof EngineCredentials>

/** `browser`: the token of a sign-in stays in the app, and the page sends only a ticket for the token. */
export const EnteredCredentials = z.discriminatedUnion('kind', [
  TokenCredentials,
  PasswordCredentials,
  z.object({ kind: z.literal('browser'), ticket: z.uuid() })
])
export type EnteredCredentials = z.infer<typeof EnteredCredentials>

/** SHA-256 as pairs of capital hex digits: `AB:CD:…`. */
const Fingerprint = z.string().regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)

export const EngineSettings = z.object({
  name: z.string().trim().min(1, 'must not be empty').max(60),
  url: Address,
  colour: z.enum(ENGINE_COLOURS),
  /** Whether changes on this engine are forbidden from this computer. */
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
  signsInWith: z.enum(['token', 'password', 'browser']),
  username: z.string().nullable(),
  /** The fingerprint of the only trusted certificate; null: the system's certificate authorities apply. */
  pinned: Fingerprint.nullable(),
  /** `refused`: the engine responds, but rejects these credentials or presents a different certificate. */
  state: z.enum(['connecting', 'live', 'offline', 'refused']),
  sinceMs: z.number(),
  /** The time of the data that is shown while the engine does not respond; null: there is no data. */
  asOfMs: z.number().nullable(),
  problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** As of the last contact; null: there has been no contact. */
  version: z.string().nullable(),
  age: z.enum(['same', 'older', 'newer']).nullable(),
  /** Operations of this app that an older engine lacks, such as `webhooks.list`. */
  lacks: z.array(z.string())
})
export type RemoteEngine = z.infer<typeof RemoteEngine>

const EngineId = z.object({ id: z.uuid() })
/** The certificate that the user has seen and trusts; null: only certificates that the system trusts. */
const Trusted = { trusted: Fingerprint.nullable().default(null) }

const SignInTo = EngineSettings.pick({ name: true, url: true }).extend(Trusted)
const SignInTicket = z.object({ ticket: z.uuid(), userName: z.string(), role: z.string(), expiresAtMs: z.number() })

export const desktopContract = {
  engines: {
    watch: oc.output(eventIterator(z.object({ appVersion: z.string(), engines: z.array(RemoteEngine) }))),
    /**
     * Signs in with the browser, and resolves when the user has approved the sign-in there. Aborting the call ends the
     * sign-in. The ticket is valid once, for `add` or `update` with this address. Rejects like `add`, and with
     * SIGN_IN_FAILED.
     */
    signIn: oc.input(SignInTo).output(SignInTicket),
    /**
     * Like `signIn`, but with a code for any browser that reaches the engine. Sends the code first, then the ticket.
     */
    signInWithCode: oc
      .input(SignInTo)
      .output(
        eventIterator(
          z.discriminatedUnion('is', [
            z.object({ is: z.literal('waiting'), page: z.string(), userCode: z.string() }),
            SignInTicket.extend({ is: z.literal('signedIn') })
          ])
        )
      ),
    /**
     * Connects first. Rejects with ENGINE_CERTIFICATE_UNTRUSTED if the certificate is not trusted (`data` contains
     * it).
     */
    add: oc.input(EngineSettings.extend({ credentials: EnteredCredentials, ...Trusted })).output(RemoteEngine),
    /** Without credentials, keeps the previous credentials, but only for the same address. */
    update: oc
      .input(EngineSettings.extend({ ...EngineId.shape, credentials: EnteredCredentials.nullable(), ...Trusted }))
      .output(RemoteEngine),
    remove: oc.input(EngineId).output(z.object({})),
    retry: oc.input(EngineId).output(z.object({})),
    /** Opens the engine's own UI, with its login, in the browser. */
    openUi: oc.input(EngineId).output(z.object({}))
  }
}
