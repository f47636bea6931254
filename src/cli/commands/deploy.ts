import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { ProjectName } from '../../shared/contract/index.ts'
import { buildEggFromFolder } from '../../engine/projects/egg-builder.ts'
import type { Version } from '../../shared/contract/projects.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { maskCredentials } from '../../shared/secret-values.ts'
import {
  baseOf,
  type Client,
  connect,
  type ConnectionFlags,
  findAddress,
  readUrl,
  toCommandError
} from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { plural, printLine, table } from '../client/output.ts'
import { safeJson, type Terminal } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { type DeployTarget, readScrapyConfiguration } from '../scrapy-cfg.ts'
import { expandAddress, expandValue, type WrittenValue } from '../target-variables.ts'
import { nodeNames } from '../client/find.ts'
import { describeDeployments } from './projects.ts'

interface DeployFlags extends ConnectionFlags {
  target?: string
  project?: ProjectName
  version?: string
  listTargets?: boolean
  list?: boolean
  send?: boolean
  expandVariables?: boolean
}

type Uploaded = Awaited<ReturnType<Client['projects']['upload']>>

const run = promisify(execFile)

export function addDeployCommand({ add }: ClientCommands): void {
  add(
    'deploy [folder-or-egg]',
    'Upload a project as a new version: a folder with scrapy.cfg (default: the nearest one), an egg or a wheel.',
    (command) =>
      command
        .option('-t, --target <name>', 'a [deploy:NAME] of scrapy.cfg: its url, user, project and version')
        .option('-p, --project <name>', 'name of the project (default: from scrapy.cfg or the egg)')
        .option('-v, --version <version>', 'its version; GIT or HG: from the repository (default: the current time)')
        .option('--expand-variables', 'send variables that scrapy.cfg names, whatever address it names beside them')
        .option('-l, --list-targets', 'list the targets of scrapy.cfg')
        .option('--list', 'list what is deployed, of one project with -p: each version and the nodes that have it')
        .option('--send', 'send it to all nodes now, rather than before the first job there')
  )((session, [path], options: DeployFlags) => deploy(session, path, options))
}

async function deploy(session: Session, path: string | undefined, flags: DeployFlags): Promise<void> {
  const { terminal } = session
  const place = resolve(terminal.directory, path ?? '.')
  if (!existsSync(place)) throw new CommandEnd(EXIT_CODES.usage, `There is no ${place}.`)
  const isEgg = statSync(place).isFile()
  const directory = isEgg ? terminal.directory : place
  const { targets, projectDirectory } = readScrapyConfiguration({ ...terminal, directory })
  if (flags.listTargets) {
    const shown = targets.map(asWritten)
    const rows = shown.map(({ name, url, project }) => [name, url, project])
    session.print({ targets: shown }, () =>
      table(['target', 'url', 'project'], rows, 'scrapy.cfg has no [deploy] section.')
    )
    return
  }
  const target = chooseTarget(targets, flags, terminal)
  if (flags.list) return listDeployed(clientOf(target, session, flags), session, flags.project)
  const project = flags.project ?? (nameOf(target, 'project', terminal, flags) as ProjectName | undefined)
  const wanted = flags.version ?? nameOf(target, 'version', terminal, flags)
  const folder = path === undefined ? projectDirectory : place
  if (!isEgg && (folder === null || !existsSync(join(folder, 'scrapy.cfg')))) {
    throw new CommandEnd(
      EXIT_CODES.usage,
      `There is no scrapy.cfg in ${place}. Specify the folder of a Scrapy project, or an egg.`
    )
  }
  const version = wanted === undefined ? undefined : await resolveVersion(wanted, folder ?? directory)
  const bytes = isEgg
    ? readFileSync(place)
    : await buildEggFromFolder(folder as string, project === undefined ? {} : { project })
  const client = clientOf(target, session, flags)
  const file = new File([bytes as Uint8Array<ArrayBuffer>], isEgg ? basename(place) : 'project.egg')
  const answer = await client.projects.upload({ file, project, version }).catch((error: unknown) => {
    throw withNextStep(toCommandError(error))
  })
  session.print(answer, describeUpload)
  if (flags.json !== true) await tellUnusable(client, answer, terminal)
  if (flags.send) await sendToNodes(client, answer, session)
}

function clientOf(target: DeployTarget | null, { client, terminal }: Session, flags: DeployFlags): Client {
  return target?.url == null ? client : connectToTarget(target, flags, terminal)
}

async function listDeployed(client: Client, { flags, print }: Session, name: string | undefined): Promise<void> {
  const projects =
    name === undefined
      ? (await client.projects.list()).projects
      : [await client.projects.get({ project: name as ProjectName })]
  const nodes = flags.json === true ? new Map<string, string>() : await nodeNames(client)
  const rows = projects.flatMap(({ versions }) =>
    versions.map((version) => [version.project, version.version, describeDeployments(version, nodes)])
  )
  print({ projects }, () => table(['project', 'version', 'nodes'], rows, 'Nothing is deployed.'))
}

/**
 * Chooses a target like scrapyd-deploy: `[deploy]` if no name is given. An address given by the user replaces the
 * address in `[deploy]`.
 */
function chooseTarget(targets: DeployTarget[], flags: DeployFlags, terminal: Terminal): DeployTarget | null {
  const isAddressed = flags.url !== undefined || Boolean(terminal.environment['SCRAPDECK_URL'])
  const name = flags.target ?? 'default'
  const target = targets.find((one) => one.name === name)
  if (target !== undefined) return isAddressed && flags.target === undefined ? { ...target, url: null } : target
  if (flags.target === undefined) return null
  const known = targets.map((one) => one.name).join(', ')
  throw new CommandEnd(
    EXIT_CODES.usage,
    `scrapy.cfg has no [deploy:${name}]. It has ${known === '' ? 'no targets' : known}.`
  )
}

function nameOf(
  target: DeployTarget | null,
  key: 'project' | 'version',
  terminal: Terminal,
  flags: DeployFlags
): string | undefined {
  const written = target?.[key]
  return target === null || written == null ? undefined : expand(target, [written], terminal, flags)[0]
}

/** Replaces variables and prints which variables are sent to which address. */
function expand(target: DeployTarget, written: WrittenValue[], terminal: Terminal, flags: DeployFlags): string[] {
  const { environment } = terminal
  const address = addressOf(target, terminal, flags)
  const expanded = written.map((value) => {
    const isOwn = target.url === null || (value.isOwn && target.isOwnAddress)
    const isAgreed = isOwn || flags.expandVariables === true
    return expandValue(value, { address, environment, isAgreed })
  })
  const names = [...new Set(expanded.flatMap((one) => one.names))].join(', ')
  if (names !== '') terminal.error(`Variables for ${address} (scrapy.cfg): ${names}\n`)
  return expanded.map(({ value }) => value)
}

function addressOf({ url }: DeployTarget, { environment }: Terminal, flags: DeployFlags): string {
  const address = url === null ? (flags.url ?? environment['SCRAPDECK_URL']) : expandAddress(url, environment)
  return address ? baseOf(readUrl(address)) : 'the service on this machine'
}

/**
 * Takes credentials from the flags, then scrapy.cfg, then ~/.netrc, like scrapyd-deploy. Sends the credentials of a
 * target only to that target, and credentials from variables only to their own address.
 */
function connectToTarget(target: DeployTarget, flags: DeployFlags, terminal: Terminal): Client {
  const { username, password, isOwnAddress } = target
  const url = readUrl(expandAddress(target.url as WrittenValue, terminal.environment))
  const isGiven = flags.username !== undefined || flags.passwordFile !== undefined
  if (username !== null && !isGiven) {
    if (password?.isOwn === true && !isOwnAddress) throw passwordIsForAnother(target)
    const written = password === null ? [username] : [username, password]
    const [user = '', secret = ''] = expand(target, written, terminal, flags)
    const passwordFrom = `[deploy:${target.name}] of scrapy.cfg`
    return connect(async () => ({ url: baseOf(url), username: user, password: secret, passwordFrom }), terminal)
  }
  const { SCRAPDECK_USERNAME: _username, SCRAPDECK_PASSWORD: _password, ...environment } = terminal.environment
  const isOurs = URL.parse(environment['SCRAPDECK_URL'] ?? '')?.origin === url.origin
  return connect(
    () => findAddress({ ...flags, url: url.href }, terminal, isOurs ? terminal.environment : environment),
    terminal
  )
}

/**
 * A password in the user's own files is meant for the address in those files, not for an address in a project's file.
 */
function passwordIsForAnother({ name, url }: DeployTarget): CommandEnd {
  const section = name === 'default' ? 'deploy' : `deploy:${name}`
  const address = withoutCredentials(url?.text ?? '')
  return new CommandEnd(
    EXIT_CODES.unauthorized,
    `The password of [${section}] in your own scrapy.cfg is not sent to ${address}, which the project's scrapy.cfg names. If that is right, write url = ${address} beside the password.`
  )
}

/** Returns the address without credentials, for the user to write into a file. Does not replace variables. */
function withoutCredentials(text: string): string {
  const url = URL.parse(text)
  return url === null || `${url.username}${url.password}` === '' ? maskCredentials(text) : baseOf(url)
}

/** Like scrapyd-deploy, replaces `GIT` and `HG` with a description of the commit and the branch. */
async function resolveVersion(wanted: string, directory: string): Promise<string> {
  const ask = async (program: string, words: string[]) => (await run(program, words, { cwd: directory })).stdout.trim()
  try {
    if (wanted === 'HG') {
      return `r${await ask('hg', ['tip', '--template', '{rev}'])}-${await ask('hg', ['branch'])}`
    }
    if (wanted !== 'GIT') return wanted
    const commit = await ask('git', ['describe']).catch(
      async () => `r${await ask('git', ['rev-list', '--count', 'HEAD'])}`
    )
    return `${commit}-${await ask('git', ['rev-parse', '--abbrev-ref', 'HEAD'])}`.replaceAll('/', '_')
  } catch (error) {
    throw new CommandEnd(
      EXIT_CODES.usage,
      `No version could be read from the ${wanted} repository of ${directory}. Give one with --version.`,
      {
        cause: error
      }
    )
  }
}

function describeUpload({ project, version, spiders, pinnedVersion }: Uploaded): string {
  const found =
    spiders === null
      ? 'its spiders are not listed yet'
      : [plural(spiders.length, 'spider'), ...(spiders.length === 0 ? [] : [spiders.join(', ')])].join(': ')
  const pin =
    pinnedVersion === null || pinnedVersion === version
      ? ''
      : ` ${project} stays pinned to ${pinnedVersion}: jobs that name no version run that one.`
  return `${project} ${version} was uploaded (${found}).${pin}`
}

function withNextStep(error: unknown): unknown {
  if (!isScrapdeckError(error, 'EGG_IMPORT_FAILED')) return error
  const next = 'Nothing was saved. Fix the code, or set the requirements of the project (docs/python-environments.md).'
  const { text: _, ...data } = error.data
  return new ScrapdeckError('EGG_IMPORT_FAILED', `${error.message}\n${next}`, { data, cause: error })
}

async function tellUnusable(client: Client, { spiders }: Uploaded, terminal: Terminal): Promise<void> {
  if (spiders?.length === 0) {
    printLine(terminal, 'It has no spiders: check SPIDER_MODULES in its settings.')
    return
  }
  if (spiders !== null) return
  const { nodes } = await client.nodes.list()
  const canList = nodes.some(({ slots, health }) => slots > 0 && health === 'up')
  const why = canList
    ? 'A node lists them as soon as one can import the code.'
    : 'No node can list them now: start or add one (scrapdeck nodes add), or give this machine slots.'
  printLine(terminal, why)
}

async function sendToNodes(client: Client, { project, version }: Version, { terminal, flags }: Session): Promise<void> {
  let failed = 0
  const names = flags.json === true ? new Map<string, string>() : await nodeNames(client)
  for await (const deployment of await client.projects.deploy({ project, version })) {
    if (deployment.state === 'failed') failed += 1
    if (flags.json) terminal.out(`${safeJson(deployment)}\n`)
    else if (deployment.state !== 'sending')
      printLine(
        terminal,
        `${names.get(deployment.nodeId) ?? deployment.nodeId}  ${deployment.state}${deployment.error === null ? '' : `: ${deployment.error}`}`
      )
  }
  if (failed > 0) throw new CommandEnd(EXIT_CODES.failed, `${plural(failed, 'node')} did not accept it.`)
}

/** Formats a target for lists. Does not replace variables, and omits passwords. */
function asWritten({ name, url, username, project, version }: DeployTarget) {
  const textOf = (value: WrittenValue | null) => value?.text ?? null
  return {
    name,
    url: url && maskCredentials(url.text),
    username: textOf(username),
    project: textOf(project),
    version: textOf(version)
  }
}
