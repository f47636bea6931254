import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createORPCClient, ORPCError } from '@orpc/client'
import type { ContractRouterClient } from '@orpc/contract'
import type { JsonifiedClient } from '@orpc/openapi-client'
import { OpenAPILink } from '@orpc/openapi-client/fetch'
import type { Command } from 'commander'
import { isLoopback } from '../../server/auth/host-rule.ts'
import { type Contract, contract } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { fromWireError } from '../../shared/wire-errors.ts'
import { requireCredentials } from '../credentials.ts'
import { findInNetrc } from '../netrc.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import type { LocalFlags, Terminal } from './terminal.ts'

export type Client = JsonifiedClient<ContractRouterClient<Contract>>

export interface ConnectionFlags extends LocalFlags {
  url?: string
  username?: string
  passwordFile?: string
  json?: boolean
}

/** Where an engine is, and the credentials to use there. */
export interface Address {
  /** Without a trailing slash. */
  url: string
  username: string
  password: string
}

/** The options of every command that talks to an engine. */
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
    .option('--json', 'print the answer as JSON')
}

/** Uses flags, then variables, then the service on this machine. Throws an explanation if something is missing. */
export function findAddress(
  flags: ConnectionFlags,
  terminal: Terminal,
  environment: Terminal['environment'] = terminal.environment
): Address {
  const { SCRAPDECK_URL, SCRAPDECK_USERNAME, SCRAPDECK_PASSWORD } = environment
  const given = flags.url ?? SCRAPDECK_URL
  const isLocal = given === undefined || given === ''
  const local = () => terminal.localService(flags)
  if (isLocal && local().port === null) {
    throw new CommandEnd(EXIT_CODES.usage, 'The service on this machine has no port. Name an address with --url.')
  }
  const url = readUrl(isLocal ? `http://127.0.0.1:${local().port}` : given)
  const username = flags.username ?? SCRAPDECK_USERNAME ?? decodeURIComponent(url.username)
  const password = passwordOf(flags, terminal) ?? SCRAPDECK_PASSWORD ?? decodeURIComponent(url.password)
  const address = baseOf(url)
  if (password !== '') return { url: address, username: username === '' ? 'scrapdeck' : username, password }
  const known = isLocal ? null : findInNetrc(url.hostname, terminal)
  if (known !== null && (username === '' || username === known.username)) return { url: address, ...known }
  if (username !== '' || (!isLocal && !isLoopback(url.hostname.replace(/^\[|\]$/g, '')))) {
    throw new CommandEnd(
      EXIT_CODES.unauthorized,
      `No password for ${address}. Set SCRAPDECK_USERNAME and SCRAPDECK_PASSWORD, use --username and --password-file, or name it in ~/.netrc.`
    )
  }
  try {
    return { url: address, ...requireCredentials(local().dataDirectory) }
  } catch (error) {
    throw new CommandEnd(EXIT_CODES.unauthorized, (error as Error).message, { cause: error })
  }
}

function passwordOf(flags: ConnectionFlags, terminal: Terminal): string | undefined {
  if (flags.passwordFile === undefined) return undefined
  try {
    return readFileSync(resolve(terminal.directory, flags.passwordFile), 'utf8').split(/\r?\n/, 1)[0]
  } catch (error) {
    throw new CommandEnd(EXIT_CODES.usage, `The password file ${flags.passwordFile} cannot be read.`, { cause: error })
  }
}

/** Without a trailing slash and without credentials. */
export const baseOf = (url: URL): string => `${url.origin}${url.pathname.replace(/\/+$/, '')}`

export function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new CommandEnd(EXIT_CODES.usage, `${text} is not an address. Write http://HOST:PORT or https://HOST.`)
}

const REDOES = 2
const REDO_AFTER_MS = 1_000

/** A typed client of the REST API. Every write has its own key, so it can be sent again after a dropped connection. */
export function connect(address: Address, terminal: Terminal): Client {
  const credentials = Buffer.from(`${address.username}:${address.password}`).toString('base64')
  const link = new OpenAPILink(contract, {
    url: `${address.url}/api/v1`,
    headers: () => ({ authorization: `Basic ${credentials}`, 'idempotency-key': randomUUID() }),
    fetch: async (request, init) => {
      for (let redo = 0; ; redo += 1) {
        try {
          const signal = AbortSignal.any([request.signal, terminal.interrupted])
          return await checkAnswer(await fetch(request.clone(), { ...init, signal, redirect: 'manual' }), address)
        } catch (error) {
          if (error instanceof CommandEnd || terminal.interrupted.aborted) throw error
          const code = codeOf(error) ?? ''
          const isFinal = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || problemOfTls(code) !== null
          if (isFinal || redo >= REDOES) throw unreachable(address, error)
          await terminal.sleep(REDO_AFTER_MS)
        }
      }
    }
  })
  return createORPCClient(link)
}

/** The server may not be Scrapdeck: a Scrapyd, a login page or a proxy may answer instead. */
async function checkAnswer(response: Response, { url }: Address): Promise<Response> {
  const type = response.headers.get('content-type') ?? ''
  if (response.ok && !type.includes('html')) return response
  const body: unknown = type.includes('json') ? await response.clone().json() : null
  // Our errors have codes.
  if (typeof body === 'object' && body !== null && 'code' in body) return response
  const what = response.status === 401 ? 'refused the user name and password' : `answered with ${response.status}`
  const code = response.status === 401 ? EXIT_CODES.unauthorized : EXIT_CODES.unreachable
  throw new CommandEnd(code, `${url} ${what}, which is not a Scrapdeck response. Is the address right?`)
}

function unreachable({ url }: Address, error: unknown): CommandEnd {
  const cause = codeOf(error) ?? (error instanceof Error ? error.message : String(error))
  const tls = problemOfTls(cause)
  if (tls !== null) return new CommandEnd(EXIT_CODES.unreachable, `${url}: ${tls}`, { cause: error })
  return new CommandEnd(
    EXIT_CODES.unreachable,
    `No Scrapdeck responds at ${url} (${cause}). ${cause === 'UND_ERR_SOCKET' && url.startsWith('http:') ? 'If it uses TLS, use https://. ' : ''}Start it, or name another with --url, SCRAPDECK_URL or --port.`,
    { cause: error }
  )
}

/** Explains a TLS error and what to do; null: it is a different error. */
function problemOfTls(code: string): string | null {
  if (/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) {
    return 'its certificate was issued by an unknown authority. For a private CA, set NODE_EXTRA_CA_CERTS=ca.pem'
  }
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired. Renew it there.'
  if (code === 'CERT_NOT_YET_VALID') return 'its certificate is not valid yet. Check the clocks of both machines.'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for a different host name. Use that name.'
  // Typical for a server that speaks plain HTTP.
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return 'it does not use TLS. Use http:// if that is intended.'
  return /^(ERR_SSL|ERR_TLS|CERT_|EPROTO)/.test(code) ? `no encrypted connection could be made (${code}).` : null
}

function codeOf(error: unknown): string | undefined {
  const { cause } = error as { cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message
}

/** Converts an error of a call to one with a message and exit code for the command line. */
export function toCommandError(error: unknown): unknown {
  if (error instanceof CommandEnd || error instanceof ScrapdeckError) return error
  if (error instanceof ORPCError) {
    const ours = fromWireError(error)
    // An engine of this version has all our operations, so it must be a different version.
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
