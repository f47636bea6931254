/**
 * Runs the services of a compose file as plain processes, each with its own root (an overlay over this machine's,
 * read-only if the file says so), processes and network. Only the images are missing; test-image.ts covers them.
 * Needs root and Linux.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { until } from '../../src/engine/testing/until.ts'
import type { Compose, ComposeService } from './compose-file.ts'
import { overlayOfThisMachine } from './overlay.ts'

export interface ImageStandIn {
  entrypoint: string[]
  environment: Record<string, string>
  user: string
  workingDirectory: string
  /** Files and directories of this machine, and their paths in the image. */
  content: { from: string; to: string }[]
}

export interface Pods {
  start(service: ComposeService): Promise<void>
  /** Sends the service its stop signal. Returns the exit code. */
  stop(service: ComposeService): Promise<number | null>
  probe(service: ComposeService): boolean
  addressOf(service: ComposeService): string
  output(name: string): string
  /** Runs a program on an outside client's network. */
  runOutside(command: string[], environment: Record<string, string>): Promise<number | null>
  close(): Promise<void>
}

const START_LIMIT_MS = 120_000
const STOP_LIMIT_MS = 60_000
/** The number of the first subnet for networks without a subnet in the file. */
const FIRST_SUBNET = 100
const CLIENT = 'outside-client'

export function openPods(
  compose: Compose,
  options: { directory: string; checkout: string; images: (service: ComposeService) => ImageStandIn }
): Pods {
  const { directory, checkout, images } = options
  const id = `sd${process.pid}`
  const space = (name: string) => `${id}-${name}`
  const running = new Map<string, ChildProcess>()
  const outputs = new Map<string, string>()
  const addresses = planAddresses(compose)
  const all = [...compose.services.map(({ name, networks }) => ({ name, networks: Object.keys(networks) }))]
  // If the networks have no access to the outside, the client is in the default network, as with a published port.
  all.push({ name: CLIENT, networks: ['outside' in compose.networks ? 'outside' : 'default'] })

  const undo = () => {
    for (const child of running.values()) child.kill('SIGKILL')
    for (const { name } of [...all, { name: 'switch' }]) spawnSync('ip', ['netns', 'del', space(name)])
  }
  process.on('exit', undo)
  buildNetworks(all, Object.keys(compose.networks), space, addresses)

  const asService = (service: ComposeService, command: string[]): string[] => {
    const image = images(service)
    const [uid = '0', gid = uid] = (service.user ?? image.user).split(':')
    const variables = Object.entries({
      PATH: '/opt/stand-in/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      LANG: 'C.UTF-8',
      ...image.environment,
      ...service.environment
    }).map(([name, value]) => `${name}=${value}`)
    return [
      ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all'],
      ...['--inh-caps=-all', 'env', '-i', `--chdir=${image.workingDirectory}`, ...variables, ...command]
    ]
  }

  const initOf = (name: string): string | null => {
    const pid = running.get(name)?.pid
    if (pid === undefined) return null
    try {
      return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] || null
    } catch {
      return null
    }
  }

  const pods: Pods = {
    output: (name) => outputs.get(name) ?? '',
    addressOf: ({ name }) => Object.values(addresses.get(name)!)[0]!,
    probe(service) {
      const init = initOf(service.name)
      if (init === null) return false
      const into = ['--target', init, '--mount', '--net', '--pid', '--root', '--']
      return (
        spawnSync('nsenter', [...into, ...asService(service, service.healthcheck)], { timeout: 10_000 }).status === 0
      )
    },
    async start(service) {
      const { name } = service
      const image = images(service)
      const script = path.join(directory, `${name}.sh`)
      const command = asService(service, [...(service.entrypoint ?? image.entrypoint), ...service.command])
      const hosts = hostsOf(service, compose, addresses)
      fs.writeFileSync(script, startScript({ service, image, directory, checkout, hosts, command }))
      const child = spawn(
        'ip',
        ['netns', 'exec', space(name), 'unshare', '--mount', '--pid', '--fork', '--kill-child', '/bin/sh', script],
        { stdio: ['ignore', 'pipe', 'pipe'] }
      )
      running.set(name, child)
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (piece) => outputs.set(name, `${outputs.get(name) ?? ''}${piece}`.slice(-200_000)))
      }
      const hasEnded = () => child.exitCode !== null || child.signalCode !== null
      await until(
        `${name} to be healthy`,
        () => hasEnded() || pods.probe(service),
        Boolean,
        START_LIMIT_MS,
        () => new Promise((wake) => setTimeout(wake, 500))
      ).catch((error: unknown) => {
        throw new Error(`${(error as Error).message} It printed:\n${pods.output(name).slice(-4000)}`, { cause: error })
      })
      if (hasEnded()) throw new Error(`${name} ended. It printed:\n${pods.output(name).slice(-4000)}`)
    },
    async stop({ name, stopSignal }) {
      const child = running.get(name)
      const init = initOf(name)
      if (child === undefined || init === null || child.exitCode !== null) return child?.exitCode ?? null
      const exited = once(child, 'exit')
      process.kill(Number(init), stopSignal)
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await exited
      clearTimeout(timer)
      running.delete(name)
      return child.exitCode
    },
    async runOutside(command, environment) {
      const child = spawn('ip', ['netns', 'exec', space(CLIENT), ...command], {
        stdio: 'inherit',
        env: { ...process.env, ...environment }
      })
      const [code] = (await once(child, 'exit')) as [number | null]
      return code
    },
    async close() {
      for (const service of compose.services.toReversed()) await pods.stop(service)
      undo()
      process.off('exit', undo)
    }
  }
  return pods
}

/** The address of each service in each network. */
type Addresses = Map<string, Record<string, string>>

function planAddresses(compose: Compose): Addresses {
  const prefixes = Object.fromEntries(
    Object.entries(compose.networks).map(([name, fixed], index) => [name, fixed ?? `10.89.${FIRST_SUBNET + index}`])
  )
  const planned = compose.services.map(({ name, networks }, index): [string, Record<string, string>] => [
    name,
    Object.fromEntries(
      Object.entries(networks).map(([network, fixed]) => [network, fixed ?? `${prefixes[network]}.${100 + index}`])
    )
  ])
  const client = 'outside' in compose.networks ? 'outside' : 'default'
  return new Map([...planned, [CLIENT, { [client]: `${prefixes[client]}.2` }]])
}

/** Returns the hosts file of a service, with the services that share a network with it. */
function hostsOf(service: ComposeService, compose: Compose, addresses: Addresses): string {
  const lines = compose.services.flatMap(({ name, networks }) => {
    const shared = Object.keys(networks).find((network) => network in service.networks)
    return shared === undefined ? [] : [`${addresses.get(name)![shared]} ${name}`]
  })
  return ['127.0.0.1 localhost', ...lines, ''].join('\n')
}

function buildNetworks(
  all: { name: string; networks: string[] }[],
  networks: string[],
  space: (name: string) => string,
  addresses: Addresses
): void {
  const ip = (...args: string[]) => {
    const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
  }
  const bridge = (network: string) => `br${networks.indexOf(network)}`
  ip('netns', 'add', space('switch'))
  for (const network of networks) {
    ip('-n', space('switch'), 'link', 'add', bridge(network), 'type', 'bridge')
    ip('-n', space('switch'), 'link', 'set', bridge(network), 'up')
  }
  for (const [index, { name, networks: joined }] of all.entries()) {
    ip('netns', 'add', space(name))
    ip('-n', space(name), 'link', 'set', 'lo', 'up')
    for (const [number, network] of joined.entries()) {
      const port = `p${index}x${number}`
      ip('-n', space('switch'), 'link', 'add', port, 'type', 'veth', 'peer', `eth${number}`, 'netns', space(name))
      ip('-n', space('switch'), 'link', 'set', port, 'master', bridge(network), 'up')
      ip('-n', space(name), 'addr', 'add', `${addresses.get(name)![network]}/24`, 'dev', `eth${number}`)
      ip('-n', space(name), 'link', 'set', `eth${number}`, 'up')
    }
  }
}

function startScript(options: {
  service: ComposeService
  image: ImageStandIn
  directory: string
  checkout: string
  hosts: string
  command: string[]
}): string {
  const { service, image, directory, checkout, hosts, command } = options
  const place = quote(path.join(directory, 'roots', service.name))
  const owner = service.user ?? image.user
  const within = (to: string) => `"$root"${quote(to)}`
  const bind = ({ from, to }: { from: string; to: string }, isFolder = fs.statSync(from).isDirectory()) =>
    isFolder
      ? `mkdir -p ${within(to)}; mount --rbind ${quote(from)} ${within(to)}`
      : `mkdir -p ${within(path.dirname(to))}; touch ${within(to)}; mount --bind ${quote(from)} ${within(to)}`
  const volumes = service.volumes.map(({ name, to }) => ({ from: path.join(directory, 'volumes', name), to }))
  for (const { from } of volumes) fs.mkdirSync(from, { recursive: true })
  const [uid = '0'] = owner.split(':')
  return [
    'set -e',
    ...overlayOfThisMachine(place),
    // The Python that setup installs can be below a home directory that is closed to other users.
    'chmod a+x "$root/root"',
    `printf '%s' ${quote(hosts)} > "$root/etc/hosts"`,
    // Some programs look up their own user.
    `grep -q ':x:${uid}:' /etc/passwd || echo 'standin:x:${uid}:${uid}::/tmp:/bin/sh' >> "$root/etc/passwd"`,
    ...service.temporary.map((to) => `mkdir -p ${within(to)}; mount -t tmpfs -o mode=1777 none ${within(to)}`),
    bind({ from: checkout, to: checkout }),
    ...image.content.map((entry) => bind(entry)),
    ...volumes.flatMap((entry) => [`chown ${owner} ${quote(entry.from)}`, bind(entry)]),
    ...service.files.map((entry) => bind(entry)),
    'mkdir -p "$root/proc" "$root/dev"; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"',
    ...(service.isReadOnly ? ['mount -o remount,ro "$root"'] : []),
    `exec chroot "$root" ${command.map(quote).join(' ')}`,
    ''
  ].join('\n')
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
