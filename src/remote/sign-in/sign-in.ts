import { createHash, randomBytes } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { z } from 'zod'
import { ERROR_CODES, type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'
import { CONSENT_PAGE, DEVICE_PATH, type SignInClient, TOKEN_PATH } from '../../shared/sign-in.ts'
import { openLoopback } from './loopback.ts'

export interface SignInService {
  /** The address of the UI for the browser, without a trailing slash. */
  address: string
  /** Posts a form to a path of the service. Rejects with a description of the connection problem. */
  post(path: string, form: Record<string, string>, signal: AbortSignal): Promise<{ status: number; text: string }>
}

export interface SignedIn {
  token: string
  userName: string
  role: string
  /** The token always expires. */
  expiresAtMs: number
}

const SignedInAnswer = z.object({
  token: z.string().min(1).max(4_000),
  userName: z.string().max(200),
  role: z.string().max(100),
  expiresAtMs: z.number()
})
const BegunAnswer = z.object({
  deviceCode: z.string().min(1).max(200),
  userCode: z.string().regex(/^[A-Z]{4}-[A-Z]{4}$/),
  expiresInSeconds: z.number().min(1).max(3_600),
  intervalSeconds: z.number().min(1).max(60)
})

const PERSON_MS = 10 * 60_000

/**
 * Signs in with the browser on this computer (RFC 8252). The code returns to a loopback port, and only the verifier,
 * which stays here, can exchange the code for a token. Rejects with SIGN_IN_FAILED if the sign-in is denied or takes
 * too long.
 */
export async function signInWithBrowser(
  service: SignInService,
  options: { client: SignInClient; openBrowser: (url: string) => void | Promise<void>; signal: AbortSignal }
): Promise<SignedIn> {
  const { client, openBrowser } = options
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(PERSON_MS)])
  await requireSignIn(service, signal)
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  await using loopback = await openLoopback(state)
  const asked = new URLSearchParams({
    ...requesterHere(client),
    redirect_uri: loopback.redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256'
  })
  await openBrowser(`${service.address}/ui/${CONSENT_PAGE}?${asked}`)
  try {
    return await loopback.answer(signal, async (code) =>
      signedIn(await send(service, TOKEN_PATH, { code, verifier, redirectUri: loopback.redirectUri }, signal))
    )
  } catch (error) {
    if (signal.aborted && !options.signal.aborted) throw failed('The sign-in was not allowed within ten minutes')
    throw error
  }
}

/**
 * Signs in with any browser (RFC 8628). `show` receives the page to open and the code to type there. Rejects with
 * SIGN_IN_FAILED if the sign-in is denied or takes too long.
 */
export async function signInWithCode(
  service: SignInService,
  options: {
    client: SignInClient
    show: (page: string, userCode: string) => void
    sleep: (ms: number) => Promise<void>
    signal: AbortSignal
  }
): Promise<SignedIn> {
  const { client, show, sleep, signal } = options
  const begun = read(BegunAnswer, (await send(service, DEVICE_PATH, requesterHere(client), signal)).text)
  const { deviceCode, userCode, expiresInSeconds, intervalSeconds } = begun
  show(`${service.address}/ui/${CONSENT_PAGE}`, userCode)
  for (let polls = Math.ceil(expiresInSeconds / intervalSeconds); polls > 0; polls -= 1) {
    await sleep(intervalSeconds * 1_000)
    signal.throwIfAborted()
    const answer = await send(service, TOKEN_PATH, { deviceCode }, signal)
    if (answer.status !== 202) return signedIn(answer)
  }
  throw failed('The sign-in was not allowed in time')
}

function requesterHere(client: SignInClient): { client: SignInClient; host: string; user: string } {
  return { client, host: plain(hostname()) || 'unknown', user: plain(nameOfAccount()) }
}

function nameOfAccount(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, the user may have no account entry.
    return ''
  }
}

const plain = (text: string): string => text.replaceAll(/[^\w.@\\-]/g, '').slice(0, 64)

/** Checks for support before a browser opens. Rejects with SIGN_IN_UNAVAILABLE if the service does not support it. */
async function requireSignIn(service: SignInService, signal: AbortSignal): Promise<void> {
  const { status, text } = await service.post(TOKEN_PATH, {}, signal)
  if (status === 429) throw refusalOf(text) ?? failed('Too many requests')
  if (status !== 400 || refusalOf(text) === null) throw unavailable(service.address)
}

async function send(service: SignInService, path: string, form: Record<string, string>, signal: AbortSignal) {
  const answer = await service.post(path, form, signal)
  if (answer.status < 300) return answer
  throw refusalOf(answer.text) ?? unavailable(service.address)
}

const signedIn = ({ text }: { text: string }): SignedIn => read(SignedInAnswer, text)

function read<T>(schema: z.ZodType<T>, text: string): T {
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new ScrapdeckError('SIGN_IN_FAILED', sentence('cli.sign_in_response_unexpected'), {
      cause
    })
  }
}

function refusalOf(text: string): ScrapdeckError | null {
  if (!text.startsWith('{')) return null
  try {
    const { code, message } = JSON.parse(text) as { code?: unknown; message?: unknown }
    if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code)) return null
    return new ScrapdeckError(code as ErrorCode, String(message).slice(0, 1_000))
  } catch {
    return null
  }
}

const failed = (text: string): ScrapdeckError =>
  new ScrapdeckError('SIGN_IN_FAILED', sentence('cli.sign_in_failed', { text }))

const unavailable = (address: string): ScrapdeckError =>
  new ScrapdeckError('SIGN_IN_UNAVAILABLE', sentence('cli.no_program_sign_in', { address }))
