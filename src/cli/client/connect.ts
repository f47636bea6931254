import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createORPCClient, ORPCError } from '@orpc/client'
import type { ContractRouterClient } from '@orpc/contract'
import type { JsonifiedClient } from '@orpc/openapi-client'
import type { Command } from 'commander'
import { credentialsFile } from '../../engine/runtime/credentials-file.ts'
import { isLoopback } from '../../server/auth/host-rule.ts'
import type { Contract } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'
import { maskCredentials } from '../../shared/secret-values.ts'
import { fromWireError } from '../../shared/wire-errors.ts'
import { findRunning } from '../../server/service-file.ts'
import { requireCredentials } from '../credentials.ts'
import { findLogin, listLogins, type Login } from '../logins/logins.ts'
import { findInNetrc } from '../netrc.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import { type Answer, createRestLink, httpUrlOf, type RestCall, sendOverHttp } from './rest-link.ts'
import { describeTlsProblem, mayWantTls, networkCode } from '../../remote/network-words.ts'
import type { LocalFlags, Terminal } from './terminal.ts'

export type Client = JsonifiedClient<ContractRouterClient<Contract>>

export interface ConnectionFlags extends LocalFlags {
  url?: string
  username?: string
  passwordFile?: string
  json?: boolean
}

export interface Address {
  /** Without a trailing slash; `unix:PATH` for a socket. */
  url: string
  username: string
  password: string
  passwordFrom: string
  /**
   * The certificate of a service on this machine, valid for any host name. If absent, the system's authorities decide.
   */
  certificate?: string | null
  /** Whether the password is the service's own, read from its data directory. */
  isOfService?: true
}

export function addConnectionOptions(command: Command): Command {
  return command
    .option(
      '--url <address>',
      'address of the Scrapdeck to use (default SCRAPDECK_URL, otherwise the one on this machine)'
    )
    .option(
      '--username <name>',
      'user name there (default SCRAPDECK_USERNAME); the password comes from SCRAPDECK_PASSWORD'
    )
    .option('--password-file <file>', 'a file whose first line is the password')
    .option('--data <directory>', 'data directory of the service on this machine, where its credentials are')
    .option('--port <number>', 'port of the service on this machine')
    .option('--config <file>', 'configuration file of the service on this machine')
    .option('--json', 'print the response as JSON')
}

/**
 * Tries the flags, then the variables, then the service on this machine. Sends credentials from variables only to
 * SCRAPDECK_URL, and credentials from a data directory only to the service running there. Rejects with an explanation.
 */
export function findAddress(
  flags: ConnectionFlags,
  terminal: Terminal,
  environment: Terminal['environment'] = terminal.environment
): Promise<Address> {
  const given = flags.url ?? environment['SCRAPDECK_URL']
  return given === undefined || given === ''
    ? findLocalAddress(flags, terminal, environment)
    : findNamedAddress(readUrl(given), flags, terminal, environment)
}

async function findLocalAddress(
  flags: ConnectionFlags,
  terminal: Terminal,
  environment: Terminal['environment']
): Promise<Address> {
  const { port, dataDirectory } = terminal.localService(flags)
  const found = await findRunning(dataDirectory)
  const running = found?.address ?? null
  const certificate = found?.certificate ?? null
  const username = flags.username ?? environment['SCRAPDECK_USERNAME'] ?? ''
  const password = passwordOf(flags, terminal) ?? environment['SCRAPDECK_PASSWORD'] ?? ''
  const passwordFrom = flags.passwordFile ?? 'SCRAPDECK_PASSWORD'
  const isOtherPort = flags.port !== undefined && running?.endsWith(`:${flags.port}`) !== true
  if (password !== '') {
    const isFound = running !== null && !isOtherPort
    const url = isFound ? running : addressOfPort(port)
    const named = { username: username === '' ? 'scrapdeck' : username, password, passwordFrom }
    return { url, ...named, certificate: isFound ? certificate : null }
  }
  if (username !== '') throw noPassword(running ?? addressOfPort(port), [NOT_SET, ...userFact(username)])
  // Whether this machine has only the command line, not a service.
  const isElsewhere =
    running === null &&
    !hasCredentials(dataDirectory) &&
    [flags.data, flags.port, flags.config].every((flag) => flag === undefined)
  const [newest] = isElsewhere ? listLogins(terminal) : []
  if (newest !== undefined) return addressOfLogin((await findLogin(newest.url, terminal))!)
  const credentials = localCredentials(dataDirectory)
  if (running === null) {
    throw new CommandEnd(
      EXIT_CODES.unreachable,
      `No Scrapdeck runs with the data in ${dataDirectory}. Start it, or name another with --data, --url or SCRAPDECK_URL.`
    )
  }
  if (isOtherPort) {
    throw new CommandEnd(
      EXIT_CODES.usage,
      `The Scrapdeck with the data in ${dataDirectory} is at ${running}, so its password is not sent to port ${flags.port}. Name the data directory of the other one with --data.`
    )
  }
  return { url: running, ...credentials, certificate }
}

async function findNamedAddress(
  url: URL,
  flags: ConnectionFlags,
  terminal: Terminal,
  environment: Terminal['environment']
): Promise<Address> {
  const { SCRAPDECK_URL = '', SCRAPDECK_USERNAME, SCRAPDECK_PASSWORD } = environment
  const isElsewhere = SCRAPDECK_URL !== '' && URL.parse(SCRAPDECK_URL)?.origin !== url.origin
  const variables = isElsewhere ? {} : { username: SCRAPDECK_USERNAME, password: SCRAPDECK_PASSWORD }
  const username = flags.username ?? variables.username ?? decodeURIComponent(url.username)
  const password = passwordOf(flags, terminal) ?? variables.password ?? decodeURIComponent(url.password)
  const passwordFrom = flags.passwordFile ?? (variables.password === undefined ? 'the address' : 'SCRAPDECK_PASSWORD')
  const address = baseOf(url)
  const isBound = isElsewhere && Boolean(SCRAPDECK_PASSWORD)
  const passwordFact = isBound
    ? `SCRAPDECK_PASSWORD belongs to SCRAPDECK_URL, ${maskCredentials(SCRAPDECK_URL)}`
    : NOT_SET
  if (password !== '')
    return { url: address, username: username === '' ? 'scrapdeck' : username, password, passwordFrom }
  const login = await findLogin(address, terminal)
  if (login !== null && (username === '' || username === login.userName)) return addressOfLogin(login)
  const known = findInNetrc(url.hostname, terminal)
  if (known !== null && (username === '' || username === known.username))
    return { url: address, ...known, passwordFrom: '.netrc' }
  if (username === '' && isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    const { dataDirectory } = terminal.localService(flags)
    const found = await findRunning(dataDirectory)
    const running = found?.address ?? null
    // Another name for this machine can lead to a different program on the same port, so use the recorded address.
    if (running !== null && URL.parse(running)?.port === url.port) {
      return { url: running, ...localCredentials(dataDirectory), certificate: found!.certificate }
    }
    const where = running === null ? 'is not running' : `is at ${running}`
    throw noPassword(address, [passwordFact, `the service with the data in ${dataDirectory} ${where}`])
  }
  throw noPassword(address, [passwordFact, ...userFact(username)])
}

export const LOGIN = '"scrapdeck login"'

const addressOfLogin = ({ url, userName, token }: Login & { token: string }): Address => ({
  url,
  username: userName,
  password: token,
  passwordFrom: LOGIN
})

const hasCredentials = (dataDirectory: string): boolean => existsSync(credentialsFile(dataDirectory))

function addressOfPort(port: number | null): string {
  if (port !== null) return `http://127.0.0.1:${port}`
  throw new CommandEnd(EXIT_CODES.usage, 'The service on this machine has no port. Name an address with --url.')
}

function localCredentials(dataDirectory: string): Omit<Address, 'url'> {
  try {
    return { ...requireCredentials(dataDirectory), passwordFrom: credentialsFile(dataDirectory), isOfService: true }
  } catch (error) {
    throw new CommandEnd(EXIT_CODES.unauthorized, (error as Error).message, { cause: error })
  }
}

const NOT_SET = 'SCRAPDECK_PASSWORD is not set'
const userFact = (username: string): string[] => (username === '' ? [] : [`user name "${username}"`])

function noPassword(address: string, facts: string[]): CommandEnd {
  return new CommandEnd(
    EXIT_CODES.unauthorized,
    `No password for ${address} (${facts.join('; ')}). Set SCRAPDECK_USERNAME and SCRAPDECK_PASSWORD, use --username and --password-file, or name it in ~/.netrc. ${WHO_KNOWS} To log in with the browser: scrapdeck login ${address}`
  )
}

const WHO_KNOWS = '"scrapdeck credentials" on the machine of that service shows both.'

function passwordOf(flags: ConnectionFlags, terminal: Terminal): string | undefined {
  if (flags.passwordFile === undefined) return undefined
  try {
    return readFileSync(resolve(terminal.directory, flags.passwordFile), 'utf8').split(/\r?\n/, 1)[0]
  } catch (error) {
    throw new CommandEnd(EXIT_CODES.usage, `The password file ${flags.passwordFile} cannot be read.`, { cause: error })
  }
}

export const baseOf = (url: URL): string => `${url.origin}${url.pathname.replace(/\/+$/, '')}`

export function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new CommandEnd(
    EXIT_CODES.usage,
    `${maskCredentials(text)} is not an address. Write http://HOST:PORT or https://HOST.`
  )
}

const REDOES = 2
const REDO_AFTER_MS = 1_000

/** A typed API client that calls `find` on the first request. An idempotency key makes repeated calls safe. */
export function connect(find: () => Promise<Address>, terminal: Terminal): Client {
  let found: Promise<Address> | null = null
  const address = () => (found ??= find())
  return createORPCClient(
    createRestLink({
      baseUrl: async () => `${httpUrlOf((await address()).url)}/api/v1`,
      send: async (call) => sendTo(await address(), await withKey(call), terminal)
    })
  )
}

async function withKey(call: RestCall): Promise<RestCall> {
  if (call.method === 'GET') return call
  return { ...call, headers: { ...call.headers, 'idempotency-key': crypto.randomUUID() } }
}

/** Sends the request with the address's credentials and repeats it if the connection drops. Rejects with advice. */
export async function sendTo(there: Address, call: RestCall, terminal: Terminal): Promise<Answer> {
  const credentials = Buffer.from(`${there.username}:${there.password}`).toString('base64')
  const headers = { ...call.headers, authorization: `Basic ${credentials}` }
  const signal = call.signal === undefined ? terminal.interrupted : AbortSignal.any([call.signal, terminal.interrupted])
  for (let redo = 0; ; redo += 1) {
    try {
      const answer = await sendOverHttp(there, { ...call, headers, signal })
      checkAnswer(answer, there)
      return { ...answer, events: answer.events && explainBreaks(answer.events, there) }
    } catch (error) {
      if (error instanceof CommandEnd || error instanceof ScrapdeckError || terminal.interrupted.aborted) throw error
      const code = networkCode(error) ?? ''
      const isFinal = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || describeTlsProblem(code) !== null
      if (isFinal || redo >= REDOES) throw unreachable(there, error)
      await terminal.sleep(REDO_AFTER_MS)
    }
  }
}

/** Posts a form without credentials. If there is no response, rejects with advice. */
export async function sendForm(
  there: Pick<Address, 'url' | 'certificate'>,
  path: string,
  form: Record<string, string>,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal }
): Promise<Pick<Answer, 'status' | 'text'>> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(form).toString()
  const call = { method: 'POST', url: new URL(`${httpUrlOf(there.url)}${path}`), headers, body, signal }
  try {
    return await sendOverHttp(there, call)
  } catch (error) {
    if (terminal.interrupted.aborted || signal.aborted) throw error
    throw unreachable(there, error)
  }
}

async function* explainBreaks(events: AsyncIterable<unknown>, there: Address): AsyncGenerator<unknown> {
  try {
    yield* events
  } catch (error) {
    throw networkCode(error) === null ? error : unreachable(there, error)
  }
}

/**
 * Throws for UNAUTHORIZED, and if something other than Scrapdeck responded, such as a Scrapyd, a login page or a proxy.
 */
function checkAnswer({ status, type, text }: Answer, address: Address): void {
  const { url } = address
  if (status >= 200 && status < 300 && !type.includes('html')) return
  const body: unknown = type.includes('json') ? JSON.parse(text) : null
  if (typeof body === 'object' && body !== null && 'code' in body) {
    if (body.code === 'UNAUTHORIZED') throw unauthorized(address, body as { data?: unknown })
    return
  }
  const what =
    status === 401 ? `refused the user name "${address.username}" or its password` : `answered with ${status}`
  const code = status === 401 ? EXIT_CODES.unauthorized : EXIT_CODES.unreachable
  throw new CommandEnd(code, `${url} ${what}, which is not a Scrapdeck response. Is the address right?`)
}

function unauthorized({ url, username, passwordFrom, isOfService }: Address, body: { data?: unknown }): ScrapdeckError {
  const { credentials } = (body.data ?? {}) as { credentials?: unknown }
  if (credentials !== 'missing' && passwordFrom === LOGIN) {
    const what = sentence('cli.login_refused', { url, username })
    return new ScrapdeckError('UNAUTHORIZED', what, { data: { credentials } })
  }
  const text =
    credentials === 'missing'
      ? sentence('cli.password_not_received', { url, username, passwordFrom })
      : sentence('cli.password_refused', {
          url,
          username,
          passwordFrom,
          isOfService,
          restart: RESTART,
          setOthers: SET_OTHERS
        })
  return new ScrapdeckError('UNAUTHORIZED', text, { data: { credentials } })
}

const RESTART =
  'That file was changed after the service started: restart the service, or set SCRAPDECK_USERNAME and SCRAPDECK_PASSWORD.'
const SET_OTHERS = `Set SCRAPDECK_USERNAME and SCRAPDECK_PASSWORD, or use --username and --password-file. ${WHO_KNOWS}`

function unreachable({ url }: Pick<Address, 'url'>, error: unknown): CommandEnd {
  const cause = networkCode(error) ?? (error instanceof Error ? error.message : String(error))
  const tls = describeTlsProblem(cause)
  if (tls !== null) return new CommandEnd(EXIT_CODES.unreachable, `${url} ${tls.text}`, { cause: error })
  return new CommandEnd(
    EXIT_CODES.unreachable,
    `No Scrapdeck responds at ${url} (${cause}). ${mayWantTls(cause, url) ? 'If it uses TLS, use https://. ' : ''}Start it, or name another with --url, SCRAPDECK_URL or --port.`,
    { cause: error }
  )
}

/** Maps the fields named in API messages to the flags that set them. */
const FLAGS: [RegExp, string][] = [
  [/\bgiveUpAfterSeconds\b/g, '--give-up-after (in seconds)'],
  [/\b(timing\.)?rules\.\d+\.everySeconds\b/g, '--every (in seconds)'],
  [/\b(timing\.)?rules\.\d+\.expression\b/g, '--cron'],
  [/\b((timing\.)?rules\.\d+\.atMs|notBeforeMs)\b/g, '--at'],
  [/\btags\.\d+(?=:)/g, '--tag'],
  [/\bwaitSeconds\b/g, '--wait (in seconds)'],
  [/\bwithoutDefaults\b(\.\d+)?/g, '--without-default'],
  [/\bsecretNames\b(\.\d+)?/g, '--secret'],
  [/\bproxyUrl\b/g, '--proxy'],
  [/\b(?:jobs\.\d+\.)?spiders\.\d+(?=:)/g, 'spider']
]

function inFlags(error: ScrapdeckError): ScrapdeckError {
  const said = FLAGS.reduce((text, [name, flag]) => text.replace(name, flag), error.message)
  const message = said.replace(/^The request is not valid for this operation\. /, '')
  if (message === error.message) return error
  const { text: _, ...data } = error.data
  return new ScrapdeckError(error.code, message, { data, cause: error })
}

export function toCommandError(error: unknown): unknown {
  if (error instanceof CommandEnd || error instanceof ScrapdeckError) return error
  if (error instanceof ORPCError) {
    const ours = fromWireError(error)
    if (ours.code === 'BAD_INPUT') return inFlags(ours)
    // The engine lacks an operation, so its version differs from ours.
    if (ours.code !== 'NOT_FOUND' || !ours.message.startsWith('The API has no ')) return ours
    return new CommandEnd(
      EXIT_CODES.failed,
      `${ours.message} That Scrapdeck is a different version than this command line: update the older one.`,
      { cause: error }
    )
  }
  if (!(error instanceof TypeError)) return error
  return new CommandEnd(
    EXIT_CODES.failed,
    `The response could not be read (${error.message}). The server may be a different version than this command line: update the older one.`,
    { cause: error }
  )
}
