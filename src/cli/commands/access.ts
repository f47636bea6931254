import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { AccessToken, Me, ProjectName, Session, User } from '../../shared/contract/index.ts'
import { permissionsOf } from '../../shared/permissions.ts'
import { isBuiltInRole, permissionsOfRole, type Role } from '../../shared/roles.ts'
import { formatAge } from '../../shared/time.ts'
import { wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, plural, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import type { Terminal } from '../client/terminal.ts'
import { findGroup } from './groups.ts'
import { describeRights, findIn, type RightsFlags, rightsIn, several, withRights } from './rights-flags.ts'

const DAYS = 90

interface UserFlags extends RightsFlags {
  group?: string[]
  kind?: User['kind']
  newPasswordFile?: string
  disable?: boolean
  enable?: boolean
  /** false: `--no-second-factor`. */
  secondFactor?: boolean
  revokeTokens?: boolean
}

interface TokenFlags {
  user?: string
  role?: string
  project?: string[]
  nodeGroup?: string[]
  days?: number | 'never'
}

export function addAccessCommands({ group, terminal }: ClientCommands): void {
  addUsers(group('users', 'Users and service accounts: list, add, set, remove, me.'), terminal.nowMs)
  addTokens(group('tokens', 'Tokens that programs send instead of a password: list, add, revoke.'), terminal.nowMs)
  addSessions(group('sessions', 'Browsers that are logged in: list, revoke.'), terminal.nowMs)
}

function addUsers(add: ClientCommands['add'], nowMs: () => number): void {
  add('list', 'List the users.', undefined, { isDefault: true })(async ({ client, print }) => {
    print(await client.users.list(), ({ users }) => listed(users, nowMs()))
  })

  add(
    'me',
    'Show as whom this command line is known, and the role.'
  )(async ({ client, print }) => {
    print(await client.users.me(), (me) => `${me.name}, ${describeMe(me)}`)
  })

  add('add <name>', 'Add a person, or a service account for programs, which has tokens and no password.', (command) =>
    withRights(withPassword(command), { whose: 'the user' })
      .option('--group <group>', 'a group that the user joins; may be given several times', several)
      .addOption(new Option('--kind <kind>', 'whose account it is').choices(['person', 'service']).default('person'))
  )(async ({ client, terminal, print }, [name = ''], { group = [], kind, newPasswordFile, ...given }: UserFlags) => {
    if (given.role === undefined) throw new CommandEnd(EXIT_CODES.usage, 'Give the --role in all projects, or none.')
    const password = readNewPassword(newPasswordFile, terminal)
    const groups = await Promise.all(group.map(async (one) => (await findGroup(client, one)).id))
    const rights = { role: null, ...rightsIn(given), groups }
    const { user } = await client.users.create({ name, ...rights, kind, ...(password !== null && { password }) })
    const next = user.kind === 'service' ? `. Create a token: scrapdeck tokens add NAME --user ${user.name}` : ''
    print({ user }, () => `Added ${user.name}, ${describeRights(user)}${next}`)
  })

  add('set <user>', "Change a user's role or password, or disable the user.", (command) =>
    withRights(withPassword(command), { whose: 'the user', isChange: true })
      .addOption(new Option('--disable', 'refuse logins and tokens').conflicts('enable'))
      .option('--enable', 'allow them again')
      .option('--no-second-factor', 'remove the authenticator app, recovery codes and passkeys; ends all sessions')
      .option('--revoke-tokens', 'revoke all tokens of the user, which a new password does not')
  )(
    async (
      { client, terminal, print },
      [name = ''],
      { newPasswordFile, enable, disable, secondFactor = true, revokeTokens = false, ...given }: UserFlags
    ) => {
      const rights = rightsIn(given)
      const password = readNewPassword(newPasswordFile, terminal)
      const enabled = enable === true ? true : disable === true ? false : undefined
      const isUnchanged = Object.keys(rights).length === 0 && enabled === undefined && password === null
      if (isUnchanged && secondFactor && !revokeTokens) {
        throw new CommandEnd(
          EXIT_CODES.usage,
          'Nothing to change: give --role, --project, --node-group, --new-password-file, --enable, --disable, --no-second-factor or --revoke-tokens.'
        )
      }
      const before = await findUser(client, name)
      const { id } = before
      const reset = secondFactor ? null : await client.secondFactors.reset({ id })
      const changes = { ...rights, enabled, ...(password !== null && { password }) }
      const answer = isUnchanged ? (reset ?? { user: before }) : await client.users.update({ id, ...changes })
      // Revoke the tokens after the sessions have ended, because an open session could create new tokens.
      const tokens = revokeTokens || password !== null ? await tokensOf(client, id) : []
      if (revokeTokens) for (const token of tokens) await client.tokens.revoke({ id: token.id })
      print(answer, ({ user }) => {
        const done = [
          ...[describeRights(user), user.enabled ? 'enabled' : 'disabled'],
          ...(reset === null ? [] : ['no second factor']),
          ...(reset === null && password === null ? [] : ['all sessions ended']),
          ...(revokeTokens ? [`${plural(tokens.length, 'token')} revoked`] : [])
        ]
        const left = password === null ? '' : whatStillWorks(revokeTokens ? 0 : tokens.length, user.passkeyCount)
        return `${user.name}: ${done.join(', ')}${left}`
      })
    }
  )

  add(
    'remove <user>',
    'Remove a user with all tokens and sessions.'
  )(async ({ client, print }, [name = '']) => {
    const { id } = await findUser(client, name)
    print(await client.users.remove({ id }), () => `Removed ${name}`)
  })
}

function addTokens(add: ClientCommands['add'], nowMs: () => number): void {
  add('list', 'List your tokens; as an owner, those of everybody.', undefined, { isDefault: true })(
    async ({ client, print }) => {
      const { tokens } = await client.tokens.list()
      const names = await namesOf(client, tokens)
      print({ tokens }, () => listedTokens(tokens, names, nowMs()))
    }
  )

  add('add <name>', 'Create a token and show it, once.', (command) =>
    command
      .option('--user <user>', 'whose (default: your own)')
      .option('--role <role>', 'what it may do (default: all that its user may now)')
      .option('--project <project>', 'only for this one; may be given several times', several)
      .option('--node-group <tag>', 'only for the nodes with this tag; may be given several times', several)
      .option('--days <number>', `days until it expires, or "never" (default ${DAYS})`, daysOf)
  )(async ({ client, print }, [name = ''], { user, role, project, nodeGroup, days = DAYS }: TokenFlags) => {
    const userId = user === undefined ? undefined : (await findUser(client, user)).id
    const expiresInDays = days === 'never' ? null : days
    const only = { projects: project ?? null, nodeGroups: nodeGroup ?? null }
    const answer = await client.tokens.create({ name, userId, role, ...only, expiresInDays })
    print(answer, ({ secret, token }) => {
      const until = token.expiresAtMs === null ? 'It does not expire' : `It expires ${localTime(token.expiresAtMs)}`
      return `${secret}\n\n${until}. Scrapdeck does not show it again.`
    })
  })

  add(
    'revoke <id>',
    'Refuse a token from now on. Its id or its last characters.'
  )(async ({ client, print }, [text = '']) => {
    const { id, name } = pickToken((await client.tokens.list()).tokens, text)
    print(await client.tokens.revoke({ id }), () => `Revoked ${name}`)
  })
}

/** Also lists the permissions of a custom or limited role, because the role's name alone does not explain them. */
function describeMe({ role, everywhere, projects, nodeGroups = {}, permissions }: Me): string {
  const each = Object.keys(projects).map(
    (name) =>
      `${placeWords(role, projects[name as ProjectName]!, permissions.projects[name as ProjectName]!)} in ${name}`
  )
  const ofNodes = describeRights({ role: null, projects: {}, nodeGroups })
  const all = everywhere === null ? [] : [placeWords(role, everywhere, permissions.everywhere!)]
  return [...all, ...each, ...(ofNodes === '' ? [] : [ofNodes])].join(', ')
}

const placeWords = (role: string, builtIn: Role, names: readonly string[]): string =>
  permissionsOfRole(builtIn) === permissionsOf(names) ? builtIn : isBuiltInRole(role) ? names.join(' + ') : role

/** `app, 2 passkeys` */
function factorsOf({ hasAuthenticator, passkeyCount }: User): string {
  const passkeys = passkeyCount === 0 ? [] : [`${passkeyCount} passkey${passkeyCount === 1 ? '' : 's'}`]
  return [...(hasAuthenticator ? ['app'] : []), ...passkeys].join(', ') || 'none'
}

function addSessions(add: ClientCommands['add'], nowMs: () => number): void {
  add('list', 'List the browsers that are logged in as you; as an owner, those of everybody.', undefined, {
    isDefault: true
  })(async ({ client, print }) => {
    print(await client.sessions.list(), ({ sessions }) => listedSessions(sessions, nowMs()))
  })

  add(
    'revoke <id>',
    'Log a browser out at once. Its id, or its first characters.'
  )(async ({ client, print }, [text = '']) => {
    const { sessions } = await client.sessions.list()
    const found = sessions.filter(({ id }) => text !== '' && id.startsWith(text))
    if (found.length !== 1) {
      const why = found.length === 0 ? 'No session begins' : `${found.length} sessions begin`
      throw new CommandEnd(EXIT_CODES.notFound, `${why} with ${text}. To list them: scrapdeck sessions`)
    }
    const [{ id, userName }] = found as [Session]
    print(await client.sessions.revoke({ id }), () => `Logged out ${userName}`)
  })
}

/** The number of id digits to show. A whole id is too long to type. */
const SHOWN_OF_ID = 12

function listedSessions(sessions: Session[], nowMs: number): string {
  return table(
    ['user', 'signed in with', 'address', 'browser', 'last seen', 'ends', 'id'],
    sessions.map(({ userName, signedInWith, address, userAgent, lastSeenAtMs, endsAtMs, id }) => [
      ...[userName, signedInWith, address, userAgent.slice(0, 40), age(lastSeenAtMs, nowMs)],
      ...[localTime(endsAtMs), id.slice(0, SHOWN_OF_ID)]
    ]),
    'No browser is logged in.'
  )
}

const tokensOf = async (client: Client, id: User['id']): Promise<AccessToken[]> =>
  (await client.tokens.list()).tokens.filter(({ userId }) => userId === id)

/** Lists the tokens and passkeys that remain valid. Someone who knew the old password may have created them. */
function whatStillWorks(tokens: number, passkeys: number): string {
  const line = (count: number, noun: string, act: string) =>
    count === 0
      ? ''
      : `\n${plural(count, noun)} still ${count === 1 ? 'works' : 'work'}: ${act} ${count === 1 ? 'it' : 'them'}.`
  return line(tokens, 'token', '--revoke-tokens revokes') + line(passkeys, 'passkey', '--no-second-factor removes')
}

const withPassword = (command: Command): Command =>
  command.option('--new-password-file <file>', "a file whose first line is the user's password; - for standard input")

function readNewPassword(file: string | undefined, { directory }: Terminal): string | null {
  if (file === undefined) return null
  const [line = ''] = readFileSync(file === '-' ? 0 : resolve(directory, file), 'utf8').split(/\r?\n/, 1)
  if (line === '') throw new CommandEnd(EXIT_CODES.usage, 'The first line of the new password is empty.')
  return line
}

const daysOf = (text: string): number | 'never' => (text === 'never' ? text : wholeNumber(text))

const findUser = async (client: Client, text: string): Promise<User> =>
  findIn((await client.users.list()).users, text, 'user')

function pickToken(tokens: AccessToken[], text: string): AccessToken {
  const [token, ...others] = tokens.filter(
    ({ id, ending }) => id === text || (text.length >= 4 && ending.endsWith(text))
  )
  if (token !== undefined && others.length === 0) return token
  const problem = token === undefined ? `There is no token ${text}` : `Several tokens end with ${text}`
  throw new CommandEnd(EXIT_CODES.notFound, `${problem}; "scrapdeck tokens" lists them.`)
}

/** Only an owner can read the names of all users. Other users see only their own tokens. */
async function namesOf(client: Client, tokens: AccessToken[]): Promise<Map<string | null, string>> {
  const me = await client.users.me()
  const users =
    me.permissions.everywhere?.includes('users.change') === true && tokens.some(({ userId }) => userId !== null)
      ? (await client.users.list()).users
      : []
  return new Map<string | null, string>([[me.userId, me.name], ...users.map(({ id, name }) => [id, name] as const)])
}

const age = (atMs: number | null, nowMs: number): string => (atMs === null ? 'never' : `${formatAge(nowMs - atMs)} ago`)

function listed(users: User[], nowMs: number): string {
  return table(
    ['name', 'kind', 'role', 'second factor', 'state', 'last seen', 'id'],
    users.map((user) => [
      ...[
        user.name,
        user.origin === 'local' ? user.kind : `${user.kind} (${user.origin})`,
        describeRights(user),
        factorsOf(user),
        user.enabled ? 'enabled' : 'disabled'
      ],
      ...[age(user.lastSeenAtMs, nowMs), user.id]
    ]),
    'No users besides the owner of this machine. Add one: scrapdeck users add NAME --role viewer'
  )
}

function listedTokens(tokens: AccessToken[], names: Map<string | null, string>, nowMs: number): string {
  return table(
    ['name', 'user', 'role', 'projects', 'ends with', 'expires', 'last used', 'id'],
    tokens.map(({ name, userId, role, projects, nodeGroups, ending, expiresAtMs, lastUsedAtMs, id }) => [
      ...[name, names.get(userId) ?? 'the service', role, placesOf(projects, nodeGroups), ending],
      ...[expiresAtMs === null ? 'never' : localTime(expiresAtMs), age(lastUsedAtMs, nowMs), id]
    ]),
    'No tokens. Create one: scrapdeck tokens add NAME'
  )
}

function placesOf(projects: AccessToken['projects'], nodeGroups: AccessToken['nodeGroups']): string {
  const all = [...(projects ?? []), ...(nodeGroups ?? []).map((tag) => `nodes ${tag}`)]
  return all.join(', ') || 'all'
}
