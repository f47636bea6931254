import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isLoopback } from '../../server/auth/host-rule.ts'
import type { Me } from '../../shared/contract/index.ts'
import { type SignedIn, type SignInService, signInWithBrowser, signInWithCode } from '../../remote/sign-in/sign-in.ts'
import {
  type Address,
  baseOf,
  connect,
  findAddress,
  LOGIN,
  readUrl,
  sendForm,
  toCommandError,
  sendTo
} from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import type { Terminal } from '../client/terminal.ts'
import { findLogin, forgetLogin, listLogins, type Login, saveLogin } from '../logins/logins.ts'

interface LoginFlags {
  browser?: boolean
  tokenFile?: string
}

export function addLoginCommands({ add, group }: ClientCommands): void {
  const addLogin = group(
    'login',
    'Log in to a Scrapdeck with your browser; "login status" lists where you are logged in.'
  )

  addLogin(
    'to [url]',
    'Log in with the browser, and keep a token for this command line.',
    (command) =>
      command
        .option('--no-browser', 'show a code to type in any browser (default without a screen, and over SSH)')
        .option('--token-file <file>', 'keep the token in the first line of this file; - for standard input'),
    { isDefault: true }
  )(async ({ terminal, flags, print }, [given], { browser, tokenFile }: LoginFlags) => {
    const url = addressOf(given ?? flags.url, terminal)
    const before = await findLogin(url, terminal).catch(() => null)
    const token =
      tokenFile === undefined ? await signIn(url, terminal, browser === false) : readToken(tokenFile, terminal)
    const there = addressWith(url, token.userName, token.token)
    const me = await askWho(there, terminal)
    const login: Login & { token: string } = {
      url,
      userName: me.name,
      token: token.token,
      madeAtMs: terminal.nowMs(),
      expiresAtMs: token.expiresAtMs ?? (await expiryOf(there, me, terminal))
    }
    const store = await saveLogin(login, terminal)
    if (before !== null && before.token !== login.token) await revoke(before, terminal).catch(() => null)
    const shown = { url, userName: me.name, role: me.role, expiresAtMs: login.expiresAtMs, store }
    print(shown, () => {
      const kept =
        store === 'keychain'
          ? 'The token is in the keychain of this system.'
          : `No keychain can be used here, so the token is in ${store}, which only you can read.`
      return `Logged in to ${url} as ${me.name} (${me.role}), ${untilOf(login)}.\n${kept}`
    })
  })

  addLogin(
    'status',
    'List where this command line is logged in, as whom, and until when.'
  )(async ({ terminal, print }) => {
    const logins = await Promise.all(
      listLogins(terminal).map(async ({ token, ...login }) => ({
        ...login,
        store: token === undefined ? 'keychain' : 'file',
        state: await stateOf(login.url, terminal)
      }))
    )
    print({ logins }, () =>
      table(
        ['address', 'user', 'state', 'expires', 'token in'],
        logins.map((login) => [login.url, login.userName, login.state, untilOf(login), login.store]),
        'Not logged in anywhere. To log in: scrapdeck login https://HOST'
      )
    )
  })

  add(
    'logout [url]',
    'Revoke the token of "login", and forget it.'
  )(async ({ terminal, flags, print }, [given]) => {
    const [newest, ...others] = listLogins(terminal)
    const wanted = given ?? flags.url
    if (wanted === undefined && others.length > 0) {
      const urls = listLogins(terminal).map(({ url }) => url)
      throw new CommandEnd(EXIT_CODES.usage, `Name the address to log out of: ${urls.join(', ')}.`)
    }
    const url = wanted === undefined ? newest?.url : baseOf(readUrl(wanted))
    const login = listLogins(terminal).find((one) => one.url === url)
    if (login === undefined)
      throw new CommandEnd(EXIT_CODES.notFound, `Not logged in${url === undefined ? '' : ` to ${url}`}.`)
    const problem = await findLogin(login.url, terminal).then(
      (found) => revoke(found!, terminal).then(() => null, toText),
      toText
    )
    await forgetLogin(login, terminal)
    if (problem !== null) {
      throw new CommandEnd(
        EXIT_CODES.failed,
        `The login to ${login.url} was forgotten here, but its token may still be valid: ${problem} Revoke it there under Users & access.`
      )
    }
    print({ url: login.url, revoked: true }, () => `Logged out of ${login.url}. The token is revoked.`)
  })

  add(
    'whoami',
    'Show as whom this command line is known, where, and until when.'
  )(async ({ client, terminal, flags, print }) => {
    const there = await findAddress(flags, terminal)
    const me = await client.users.me()
    const login = listLogins(terminal).find(({ url }) => there.passwordFrom === LOGIN && url === there.url)
    const shown = { url: there.url, userName: me.name, role: me.role, expiresAtMs: login?.expiresAtMs ?? null }
    print(shown, () => {
      const until = login === undefined ? '' : `, ${untilOf(login)}`
      return `${me.name} (${me.role}) at ${there.url}, by the password from ${there.passwordFrom}${until}`
    })
  })
}

function addressOf(given: string | undefined, terminal: Terminal): string {
  const named = given ?? (terminal.environment['SCRAPDECK_URL'] || undefined) ?? listLogins(terminal)[0]?.url
  if (named === undefined) {
    throw new CommandEnd(
      EXIT_CODES.usage,
      'Name the address to log in to: scrapdeck login https://HOST. The service on this machine needs no login.'
    )
  }
  const url = readUrl(named)
  if (url.username !== '' || url.password !== '') {
    throw new CommandEnd(
      EXIT_CODES.usage,
      'Leave user name and password out of the address: you enter them in the browser.'
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    terminal.error(
      `Without TLS, the token can be read on its way to ${url.host}. Use https:// outside of a trusted network.\n`
    )
  }
  return baseOf(url)
}

async function signIn(url: string, terminal: Terminal, isWithout: boolean): Promise<SignedIn> {
  const service: SignInService = {
    address: url,
    post: (path, form, signal) => sendForm({ url }, path, form, { terminal, signal })
  }
  const { openBrowser, interrupted: signal } = terminal
  if (openBrowser !== null && !isWithout) {
    return signInWithBrowser(service, {
      client: 'cli',
      signal,
      async openBrowser(page) {
        terminal.error(`Continue in your browser. If it did not open, go to:\n${page}\n`)
        await openBrowser(page).catch(() => {})
      }
    })
  }
  return signInWithCode(service, {
    client: 'cli',
    signal,
    sleep: terminal.sleep,
    show: (page, userCode) =>
      terminal.error(`Open this page in any browser:  ${page}\nand enter this code there:     ${userCode}\n`)
  })
}

function readToken(
  file: string,
  { directory }: Terminal
): Pick<SignedIn, 'token' | 'userName'> & { expiresAtMs: null } {
  const path = file === '-' ? 0 : resolve(directory, file)
  let line = ''
  try {
    ;[line = ''] = readFileSync(path, 'utf8').split(/\r?\n/, 1)
  } catch (cause) {
    throw new CommandEnd(EXIT_CODES.usage, `The token file ${file} cannot be read.`, { cause })
  }
  if (!line.startsWith('sdk_'))
    throw new CommandEnd(EXIT_CODES.usage, 'The first line is no token: those begin with sdk_.')
  return { token: line.trim(), userName: 'token', expiresAtMs: null }
}

const addressWith = (url: string, username: string, password: string): Address => ({
  url,
  username,
  password,
  passwordFrom: LOGIN
})

const clientOf = (there: Address, terminal: Terminal) => connect(async () => there, terminal)

const askWho = (there: Address, terminal: Terminal): Promise<Me> => clientOf(there, terminal).users.me()

async function expiryOf(there: Address, { tokenId }: Me, terminal: Terminal): Promise<number | null> {
  const { tokens } = await clientOf(there, terminal).tokens.list()
  return tokens.find(({ id }) => id === tokenId)?.expiresAtMs ?? null
}

async function revoke({ url, userName, token }: Login & { token: string }, terminal: Terminal): Promise<void> {
  const client = clientOf(addressWith(url, userName, token), terminal)
  const { tokenId } = await client.users.me()
  if (tokenId !== null) await client.tokens.revoke({ id: tokenId })
}

async function stateOf(url: string, terminal: Terminal): Promise<string> {
  try {
    const found = await findLogin(url, terminal)
    const { role } = await askWho(addressWith(url, found!.userName, found!.token), terminal)
    return `valid, ${role}`
  } catch (error) {
    const failure = toCommandError(error)
    if (failure instanceof CommandEnd && failure.exitCode === EXIT_CODES.unreachable) return 'unreachable'
    return 'refused: log in again'
  }
}

const untilOf = ({ expiresAtMs }: Pick<Login, 'expiresAtMs'>): string =>
  expiresAtMs === null ? 'does not expire' : `until ${localTime(expiresAtMs)}`

const toText = (error: unknown): string => (toCommandError(error) as Error).message

export function addLinkCommand({ add }: ClientCommands): void {
  add(
    'link',
    'Create a one-time login link for a browser.'
  )(async ({ flags, terminal, print }) => {
    const there = await findAddress(flags, terminal)
    if (there.url.startsWith('unix:')) {
      const what = 'Start the service with http_port, or use --url with the address of a proxy in front of it.'
      throw new CommandEnd(EXIT_CODES.failed, `Browsers cannot reach ${there.url}. ${what}`)
    }
    const call = { method: 'POST', url: new URL(`${there.url}/ui/link`), headers: {}, body: null, signal: undefined }
    const { status, text } = await sendTo(there, call, terminal)
    if (status !== 200 || !text.startsWith('/')) {
      const what = 'That Scrapdeck may be a different version than this command line.'
      throw new CommandEnd(EXIT_CODES.failed, `${there.url} did not create a login link (${status}). ${what}`)
    }
    print({ url: `${there.url}${text}` }, ({ url }) => url)
  })
}
