import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { NewToken, Node, NodeAddress, ProbeResult } from '../../shared/contract/index.ts'
import { engineOfAddress } from '../../shared/engine-address.ts'
import { pullingSetup } from '../../shared/pulling-setup.ts'
import { formatAge } from '../../shared/time.ts'
import { collect, wholeNumber } from '../client/arguments.ts'
import type { Client } from '../client/connect.ts'
import { duration } from '../client/times.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { findNode } from '../client/find.ts'
import { localTime, plural, table } from '../client/output.ts'
import type { ClientCommands, Session } from '../client/session.ts'
import { type Terminal, withoutSteering } from '../client/terminal.ts'
import { withStop } from '../../shared/texts/parts.ts'

const MODES = {
  cordon: ['cordoned', 'Stop sending new jobs to a node.'],
  drain: ['draining', 'Stop sending new jobs to a node, and cordon it once its last job has ended.'],
  activate: ['active', 'Send jobs to a node again.']
} as const

interface AddressFlags {
  nodeUsername?: string
  caCertificate?: string
  clientCertificate?: string
  clientKey?: string
  proxy?: string
}

interface SettingFlags {
  name?: string
  slots?: number | 'auto'
  tag?: string[]
  group?: string
}

interface EditFlags extends AddressFlags, SettingFlags {
  address?: string
  force?: boolean
  tags?: boolean
  giveUpAfter?: number | 'never'
}

export function addNodeCommands({ group, terminal }: ClientCommands): void {
  const add = group('nodes', 'Nodes: list, probe, add, edit, cordon, drain, activate, remove.')
  add(
    'list',
    'List the nodes and their status.'
  )(async ({ client, print }) => {
    print(await client.nodes.list(), (answer) =>
      table(
        ['name', 'mode', 'health', 'running', 'slots', 'tags', 'address', 'problem'],
        answer.nodes.map((node) => [
          node.name,
          node.mode,
          node.health,
          node.running,
          node.slots,
          node.tags.join(','),
          addressOf(node),
          node.problem
        ]),
        'No nodes. Add one: scrapdeck nodes add http://HOST:6800'
      )
    )
  })

  add(
    'probe <address-or-node>',
    'Try a Scrapyd without adding it, or show what is known of a node. Fails if it cannot be used.',
    withAddress
  )((session, [target = ''], options: AddressFlags) => probe(session, target, options))

  add(
    'add <address>',
    'Add a Scrapyd node, if it responds. Its password is read from SCRAPDECK_NODE_PASSWORD.',
    (command) =>
      withAddress(withSettings(command)).option(
        '--force',
        'add it even if it cannot be used now, for example a node that is down'
      )
  )((session, [url = ''], options: AddressFlags & SettingFlags & { force?: boolean }) => addNode(session, url, options))

  add(
    'add-pulling <name>',
    'Add a node that pulls its jobs, for a Scrapyd that cannot be reached. Shows its token, once.',
    (command) => withSettings(command, { isNamed: true })
  )(async ({ client, flags, print }, [name = ''], options: SettingFlags) => {
    const answer = await client.nodes.addPulling({ ...settingsOf(options), name })
    print(answer, (added) => `Added ${added.node.name} (${added.node.id}).\n\n${setUp(added, flags)}`)
  })

  add(
    'token <node>',
    'Give a node that pulls a new token, and show it once. The former one is refused from then on.',
    (command) => command.option('--revoke', 'only refuse the former one')
  )(async ({ client, flags, print }, [name = ''], { revoke = false }: { revoke?: boolean }) => {
    const { id } = await findNode(client, name)
    if (revoke) print(await client.nodes.revokeToken({ id }), (node) => `${node.name} has no token now.`)
    else print(await client.nodes.renewToken({ id }), (answer) => setUp(answer, flags))
  })

  add(
    'add-kubernetes <address>',
    'Add a namespace of a Kubernetes cluster, if it can be used: https://HOST:6443/api/v1/namespaces/NAME, in-cluster or kubeconfig. Its token is read from SCRAPDECK_NODE_PASSWORD.',
    (command) =>
      withSettings(command)
        .option('--kubeconfig <file>', 'take address and credentials from this file')
        .option('--context <name>', 'of that file (default: its current context)')
        .option(
          '--token-file <path>',
          'file with the token, on the machine of Scrapdeck, in a directory that its configuration names; read again as it changes'
        )
        .option('--ca-certificate <file>', 'PEM; only needed for a private CA')
        .option('--image <reference>', 'image of the pods, with Python and Scrapy')
        .option('--engine-url <address>', 'how pods reach Scrapdeck, to fetch eggs')
        .option('--memory <quantity>', 'memory of a pod, such as 512Mi')
        .option('--cpu <quantity>', 'CPU that a pod requests, such as 500m')
        .option('--service-account <name>', 'service account of the pods')
        .option('--quota <name>', 'ResourceQuota from which the number of slots is taken')
        .option('--force', 'add it even if it cannot be used now')
  )((session, [url = ''], options: ClusterFlags) => addCluster(session, url, options))

  add('edit <node>', 'Change a node. What is not given stays as it is.', (command) =>
    withAddress(withSettings(command))
      .option(
        '--address <address>',
        'its new address; with another scheme, host or port it needs its password and client key again'
      )
      .option('--force', 'take an address or proxy that cannot be used now')
      .option('--no-tags', 'remove all tags')
      .option(
        '--give-up-after <duration>',
        'run its jobs elsewhere after this long without a response, such as 15m, or never',
        (text) => (text === 'never' ? text : duration(text))
      )
  )(async ({ client, print }, [name = ''], options: EditFlags) => {
    const { giveUpAfter, address, proxy } = options
    const changes = {
      ...settingsOf(options),
      ...(options.tags === false ? { tags: [] } : {}),
      ...(giveUpAfter === undefined
        ? {}
        : { giveUpAfterSeconds: giveUpAfter === 'never' ? null : Math.ceil(giveUpAfter / 1000) }),
      ...(address === undefined ? {} : { url: address }),
      ...connectionOf(options, terminal)
    }
    if (Object.values(changes).every((value) => value === undefined)) {
      throw new CommandEnd(EXIT_CODES.usage, 'Nothing to change. Add --help to see what can be changed.')
    }
    const node = await findNode(client, name)
    const isReachedAnew = node.kind === 'scrapyd' && (address !== undefined || proxy !== undefined)
    if (isReachedAnew) await tryNewAddress({ client, terminal }, node, options)
    print(await client.nodes.update({ id: node.id, ...changes }), describeNode)
  })

  for (const [verb, [mode, what]] of Object.entries(MODES)) {
    add(
      `${verb} <node>`,
      what
    )(async ({ client, print }, [name = '']) => {
      const node = await client.nodes.setMode({ id: (await findNode(client, name)).id, mode })
      print(node, (changed) => `${changed.name} is ${changed.mode}.`)
    })
  }

  add('remove <node>', 'Remove a node from the fleet. Asks first, or needs --yes.', (command) =>
    command.option('--yes', 'do not ask').option('--force', 'even if jobs are live there: they are marked lost')
  )(async ({ client, flags, print }, [name = ''], { force = false, yes }: { force?: boolean; yes?: boolean }) => {
    const node = await findNode(client, name)
    const bound = flags.json === true && yes ? null : await describeBound(client, node)
    if (!yes) await confirmRemoval(terminal, node, { force, bound })
    else if (bound !== null) terminal.error(withoutSteering(`${bound}\n`))
    const answer = await client.nodes.remove({ id: node.id, force })
    print(answer, () => `${node.name} is no longer a node.`)
  })
}

interface ClusterFlags extends SettingFlags {
  kubeconfig?: string
  context?: string
  tokenFile?: string
  caCertificate?: string
  image?: string
  engineUrl?: string
  memory?: string
  cpu?: string
  serviceAccount?: string
  quota?: string
  force?: boolean
}

async function addCluster({ client, terminal, print }: Session, url: string, options: ClusterFlags): Promise<void> {
  const { kubeconfig, context, tokenFile, caCertificate, image, engineUrl, memory, cpu, serviceAccount, quota } =
    options
  const address = {
    url,
    password: terminal.environment['SCRAPDECK_NODE_PASSWORD'],
    ...(kubeconfig !== undefined && { kubeconfig: readPem(kubeconfig, terminal) }),
    ...(context !== undefined && { kubeconfigContext: context }),
    ...(caCertificate !== undefined && { caCertificate: readPem(caCertificate, terminal) }),
    kubernetes: {
      ...(tokenFile !== undefined && { tokenFile }),
      ...(engineUrl !== undefined && { engineUrl }),
      ...(quota !== undefined && { quota }),
      pod: {
        ...(image !== undefined && { image }),
        ...(memory !== undefined && { memory }),
        ...(cpu !== undefined && { cpu }),
        ...(serviceAccount !== undefined && { serviceAccount })
      }
    }
  }
  const found = await client.nodes.probe(address)
  if (found.health !== 'up' && found.duplicateOf === null && !options.force) {
    const why = withStop(found.problem ?? 'it does not respond')
    throw new CommandEnd(EXIT_CODES.failed, `${found.url} was not added: ${why} To add it anyway: --force.`)
  }
  const node = await client.nodes.add({ ...address, ...settingsOf(options) })
  for (const warning of found.warnings) terminal.error(withoutSteering(`Warning: ${warning}\n`))
  print(node, describeNode)
}

function withAddress(command: Command): Command {
  return command
    .option('--node-username <name>', 'user name of that Scrapyd; the password comes from SCRAPDECK_NODE_PASSWORD')
    .option('--ca-certificate <file>', 'PEM; only needed for a private CA')
    .option('--client-certificate <file>', 'PEM, with --client-key; for a node that requires a client certificate')
    .option('--client-key <file>', 'PEM, without a passphrase')
    .option('--proxy <address>', 'HTTP proxy to reach it; direct: none (default: from HTTP_PROXY)')
}

/**
 * Returns the instructions for setting up a pulling node. They contain the address that this command uses, without
 * credentials, but the node may need a different address.
 */
function setUp({ token }: NewToken, { url = '' }: Session['flags']): string {
  const given = /^https?:/.test(url) ? URL.parse(url) : null
  const address = given === null ? 'https://SCRAPDECK-ADDRESS' : `${given.origin}${given.pathname}`
  const { commands, configuration } = pullingSetup({ address, token })
  return `On the server, in the environment of its Scrapyd:\n\n${commands}\n\nIn its scrapyd.conf, then restart it:\n\n${configuration}`
}

function withSettings(command: Command, { isNamed = false } = {}): Command {
  if (!isNamed) command.option('--name <name>', 'its name (default: the hostname that it reports)')
  return command
    .option('--slots <number>', 'how many spiders it runs at once; auto (default): learned', slots)
    .option('--tag <tag>', 'a tag (can be repeated); when editing, these replace its tags', collect)
    .option('--group <name>', 'its group in the UI')
}

function slots(text: string): number | 'auto' {
  if (text === 'auto') return text
  const count = wholeNumber(text)
  if (count < 1) throw new InvalidArgumentError('Write a number from 1, or auto.')
  return count
}

function settingsOf({ name, slots: count, tag, group }: SettingFlags) {
  return { name, slots: count === 'auto' ? null : count, tags: tag, group }
}

function connectionOf(flags: AddressFlags, terminal: Terminal): Partial<NodeAddress> {
  const { nodeUsername, caCertificate, clientCertificate, clientKey, proxy } = flags
  const password = terminal.environment['SCRAPDECK_NODE_PASSWORD']
  if (nodeUsername && password === undefined)
    throw new CommandEnd(EXIT_CODES.usage, `The password of ${nodeUsername} is not set. ${GIVE_CREDENTIALS}`)
  return {
    ...(nodeUsername === undefined ? {} : { username: nodeUsername, password: password ?? '' }),
    ...(caCertificate === undefined ? {} : { caCertificate: readPem(caCertificate, terminal) }),
    ...(clientCertificate === undefined ? {} : { clientCertificate: readPem(clientCertificate, terminal) }),
    ...(clientKey === undefined ? {} : { clientKey: readPem(clientKey, terminal) }),
    ...(proxy === undefined ? {} : { proxyUrl: proxy })
  }
}

const GIVE_CREDENTIALS = 'Give --node-username NAME, and its password in SCRAPDECK_NODE_PASSWORD.'
const NO_CREDENTIALS = "If the node needs none: --node-username ''."
const GIVE_KEY = 'Give --client-certificate FILE and --client-key FILE.'
const NO_KEY = "If the node needs no client certificate: --client-certificate ''."

/** Throws if the node cannot be used at its new address or through its new proxy, or would lose a secret there. */
async function tryNewAddress(
  { client, terminal }: Pick<Session, 'client' | 'terminal'>,
  { id, name, username, url, hasClientCertificate }: Node,
  options: EditFlags
): Promise<void> {
  const { address = url, nodeUsername, clientCertificate, clientKey, force } = options
  const found = await client.nodes.probe({ url: address, ...connectionOf(options, terminal), nodeId: id })
  const needsPassword = username !== null && nodeUsername === undefined
  const needsKey = hasClientCertificate && clientCertificate === undefined && clientKey === undefined
  if (found.keepsPassword === false && (needsPassword || needsKey)) {
    const lost = [...(needsPassword ? ['password'] : []), ...(needsKey ? ['client key'] : [])]
    const advice = [
      ...(needsPassword ? [GIVE_CREDENTIALS, NO_CREDENTIALS] : []),
      ...(needsKey ? [GIVE_KEY, NO_KEY] : [])
    ]
    const isNotSent = `${lost.length > 1 ? 'are' : 'is'} not sent to a new address or through a new proxy.`
    throw new CommandEnd(EXIT_CODES.usage, `The ${lost.join(' and ')} of ${name} ${isNotSent} ${advice.join(' ')}`)
  }
  // The probe does not use the stored password, so a node with an unchanged password rejects the probe.
  const isUsable = found.health === 'up' || (needsPassword && found.health === 'unauthorized')
  const isAnothers = found.duplicateOf !== null && found.duplicateOf !== id
  const isRefused = !isUsable && !isAnothers && !force
  const what = options.address === undefined ? 'cannot be used through that proxy' : 'was not taken'
  if (isRefused) throw unusable(found, what, options)
}

function unusable(found: ProbeResult, what: string, options: AddressFlags): CommandEnd {
  const why = problemOf(found, options)
  return new CommandEnd(EXIT_CODES.failed, `${found.url} ${what}: ${why} To use it anyway: --force.`)
}

function problemOf({ health, problem }: ProbeResult, { nodeUsername }: AddressFlags): string {
  if (health !== 'unauthorized') return withStop(problem ?? 'it does not respond')
  if (!nodeUsername) return `it requires a user name and password. ${GIVE_CREDENTIALS}`
  return 'it rejected the user name or the password from SCRAPDECK_NODE_PASSWORD.'
}

/** An empty file name removes the certificate or key. */
function readPem(file: string, terminal: Terminal): string {
  if (file === '') return ''
  try {
    return readFileSync(resolve(terminal.directory, file), 'utf8')
  } catch (error) {
    const what = (error as Error).message
    throw new CommandEnd(EXIT_CODES.usage, `The file ${file} cannot be read (${what}).`, { cause: error })
  }
}

async function addNode(
  { client, terminal, print }: Session,
  url: string,
  options: AddressFlags & SettingFlags & { force?: boolean }
): Promise<void> {
  const address = { url, ...connectionOf(options, terminal) }
  const found = await client.nodes.probe(address)
  // `add` itself rejects a known address and names the node that has it.
  if (found.health !== 'up' && found.duplicateOf === null && !options.force) {
    throw unusable(found, 'was not added', options)
  }
  const node = await client.nodes.add({ ...address, ...settingsOf(options) })
  for (const warning of found.warnings) terminal.error(withoutSteering(`Warning: ${warning}\n`))
  if (options.name !== undefined && node.name !== options.name)
    terminal.error(withoutSteering(`There is a node ${options.name} already: this one is ${node.name}.\n`))
  print(node, ({ name, id }) => `Added ${name} (${id}): ${describeProbe(found, options)}`)
}

async function probe({ client, terminal, print }: Session, target: string, options: AddressFlags): Promise<void> {
  const known = (await client.nodes.list()).nodes.find(({ id, name }) => id === target || name === target)
  if (known !== undefined) {
    print(known, (node) => `${describeNode(node)}\n${describeSeen(node, terminal.nowMs())}`)
    if (known.health !== 'up') throw new CommandEnd(EXIT_CODES.failed)
    return
  }
  const found = await client.nodes.probe({ url: target, ...connectionOf(options, terminal) })
  const name = found.duplicateOf === null ? null : await nameOf(client, found.duplicateOf)
  print(found, () =>
    [
      `${found.url}: ${describeProbe(found, options)}`,
      ...found.warnings.map((warning) => `Warning: ${warning}`),
      ...(name === null ? [] : [`It is in the fleet as ${name}.`])
    ].join('\n')
  )
  if (found.health !== 'up') throw new CommandEnd(EXIT_CODES.failed)
}

async function nameOf(client: Client, id: string): Promise<string> {
  const { nodes } = await client.nodes.list()
  return nodes.find((node) => node.id === id)?.name ?? id
}

function describeProbe(found: ProbeResult, options: AddressFlags): string {
  if (found.health !== 'up') return `${found.health}: ${problemOf(found, options)}`
  const facts = [
    `Scrapyd ${found.scrapydVersion ?? 'of unknown version'}`,
    found.nodeName === null ? '' : `hostname ${found.nodeName}`,
    `${found.running ?? 0} running, ${found.pending ?? 0} pending`,
    found.projects.length === 0 ? 'no projects' : plural(found.projects.length, 'project'),
    found.latencyMs === null ? '' : `latency ${Math.round(found.latencyMs)} ms`,
    offsetOf(found.clockOffsetMs)
  ]
  return `up. ${facts.filter((fact) => fact !== '').join(', ')}.`
}

/** Empty if the offset is too small to matter. */
function offsetOf(clockOffsetMs: number | null): string {
  if (clockOffsetMs === null || Math.abs(clockOffsetMs) < 2_000) return ''
  return `clock ${formatAge(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? 'ahead' : 'behind'}`
}

function describeNode(node: Node): string {
  const facts = [
    addressOf(node),
    node.mode,
    `${plural(node.slots, 'slot')} (${node.slotsText})`,
    node.tags.length === 0 ? 'no tags' : `tags ${node.tags.join(', ')}`,
    node.group === null ? '' : `group ${node.group}`,
    node.username === null ? '' : `user name ${node.username}`,
    node.tunnel === null ? '' : `SSH tunnel ${node.tunnel.state}`,
    node.giveUpAfterSeconds === null ? '' : `given up after ${formatAge(node.giveUpAfterSeconds * 1000)}`
  ]
  return `${node.name} (${node.id}): ${facts.filter((fact) => fact !== '').join(', ')}.`
}

function describeSeen(node: Node, nowMs: number): string {
  const seen =
    node.lastSeenAtMs === null
      ? 'It has not responded yet.'
      : `Last response ${formatAge(nowMs - node.lastSeenAtMs)} ago (${localTime(node.lastSeenAtMs)}).`
  const version = node.scrapydVersion === null ? '' : ` Scrapyd ${node.scrapydVersion}.`
  const counts = node.running === null ? '' : ` ${node.running} running, ${node.pending ?? 0} pending.`
  return `Health: ${node.health}${node.problem === null ? '.' : `: ${withStop(node.problem)}`} ${seen}${version}${counts}`
}

function addressOf({ kind, url }: Node): string {
  if (kind === 'local') return 'this machine'
  if (kind === 'engine') return `inside ${engineOfAddress(url)}`
  return kind === 'pulling' ? 'pulls' : url
}

const BOUND_READ_MAX = 500

/** Describes the queued jobs that can run on no other node. Returns null if there are none among the newest jobs. */
async function describeBound(client: Client, { id, name }: Node): Promise<string | null> {
  const { jobs, nextBefore } = await client.jobs.list({ status: ['queued'], limit: BOUND_READ_MAX })
  const ids = jobs.filter(({ placement }) => placement.nodeId === id).map((job) => job.id)
  if (ids.length === 0) return null
  const most = nextBefore === null ? '' : 'At least '
  const shown = `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''}`
  return `${most}${plural(ids.length, 'queued job')} may run only on ${name} and will wait until placed elsewhere: ${shown}.`
}

/** Shows what is lost and asks for confirmation. Ends the command if the operator does not agree or cannot be asked. */
async function confirmRemoval(
  terminal: Terminal,
  node: Node,
  { force, bound }: { force: boolean; bound: string | null }
): Promise<void> {
  const live = node.runs.filter(({ jobId }) => jobId !== null).length
  const jobs = `${plural(live, 'job')} of Scrapdeck ${live === 1 ? 'is' : 'are'} live on ${node.name}`
  if (live > 0 && !force) {
    const what = 'Drain the node first, or add --force: the jobs are then marked lost.'
    throw new CommandEnd(EXIT_CODES.refused, `${jobs}. ${what}`)
  }
  const lines = [
    ...(live > 0 ? [`${jobs} and will be marked lost.`] : []),
    'Its address, credentials, slots and tags are deleted. Spiders on it continue, but Scrapdeck no longer follows them.',
    'Its jobs stay in the history, but logs that only the node has can no longer be read here.',
    ...(bound === null ? [] : [bound])
  ]
  terminal.error(withoutSteering(`Remove ${node.name} (${addressOf(node)})?\n${lines.join('\n')}\n`))
  const answer = await terminal.ask('Remove it? [y/N] ')
  if (answer === null) throw new CommandEnd(EXIT_CODES.usage, 'No changes made. Add --yes to remove it.')
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandEnd(EXIT_CODES.failed, 'No changes made.')
}
