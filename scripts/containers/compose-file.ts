/** Reads the parts of a compose file that ours use, for the test that starts the services as plain processes. */
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

export interface ComposeService {
  name: string
  image: string
  /** null: the entrypoint of the image. */
  entrypoint: string[] | null
  command: string[]
  environment: Record<string, string>
  /** `uid:gid`. null: the image's user. */
  user: string | null
  isReadOnly: boolean
  stopSignal: NodeJS.Signals
  /** Files on this machine, and their paths in the service. */
  files: { from: string; to: string }[]
  volumes: { name: string; to: string }[]
  temporary: string[]
  /** The address in each network. null: any free address. */
  networks: Record<string, string | null>
  healthcheck: string[]
  /** Services that must be healthy before this one starts. */
  needs: string[]
}

export interface Compose {
  services: ComposeService[]
  /** The first three numbers of each network's subnet. null: any. */
  networks: Record<string, string | null>
}

type Mount = string | { source: string; target?: string }
type Networks = string[] | Record<string, { ipv4_address?: string }>

interface RawService {
  image: string
  entrypoint?: string[]
  command?: string[]
  environment?: Record<string, unknown>
  user?: string
  read_only?: boolean
  stop_signal?: NodeJS.Signals
  secrets?: Mount[]
  configs?: Mount[]
  volumes?: string[]
  tmpfs?: string[]
  networks?: Networks
  healthcheck?: { test?: string[] }
  depends_on?: Record<string, { condition?: string }>
}

interface RawCompose {
  services: Record<string, RawService>
  networks?: Record<string, { ipam?: { config?: { subnet?: string }[] } }>
  secrets?: Record<string, { file?: string }>
  configs?: Record<string, { file?: string }>
}

/** Reads a compose file. `secretsDirectory` replaces the directory of its secrets. */
export function readCompose(file: string, variables: Record<string, string>, secretsDirectory: string): Compose {
  const document = interpolate(parse(fs.readFileSync(file, 'utf8'), { merge: true }), variables) as RawCompose
  const sourceOf = (kind: 'secrets' | 'configs', name: string): string => {
    const source = document[kind]?.[name]?.file
    if (source === undefined) throw new Error(`${file}: ${kind} has no file ${name}`)
    return kind === 'secrets'
      ? path.join(secretsDirectory, path.basename(source))
      : path.resolve(path.dirname(file), source)
  }
  const mounted = (service: RawService, kind: 'secrets' | 'configs') =>
    (service[kind] ?? []).map((entry) => {
      const { source, target = source } = typeof entry === 'string' ? { source: entry } : entry
      return {
        from: sourceOf(kind, source),
        to: path.isAbsolute(target) ? target : path.join(kind === 'secrets' ? '/run/secrets' : '/', target)
      }
    })
  const services = Object.entries(document.services).map(
    ([name, service]): ComposeService => ({
      name,
      image: service.image,
      entrypoint: service.entrypoint ?? null,
      command: service.command ?? [],
      environment: Object.fromEntries(
        Object.entries(service.environment ?? {}).map(([key, value]) => [key, String(value)])
      ),
      user: service.user ?? null,
      isReadOnly: service.read_only === true,
      stopSignal: service.stop_signal ?? 'SIGTERM',
      files: [...mounted(service, 'secrets'), ...mounted(service, 'configs')],
      volumes: (service.volumes ?? []).map((text) => {
        const [volume = '', to = ''] = text.split(':')
        return { name: volume, to }
      }),
      temporary: service.tmpfs ?? [],
      networks: networksOf(service.networks ?? ['default']),
      healthcheck: commandOf(service.healthcheck?.test, name),
      needs: needsOf(service.depends_on ?? {}, name)
    })
  )
  const networks: NonNullable<RawCompose['networks']> = { default: {}, ...document.networks }
  return {
    services: inOrder(services),
    networks: Object.fromEntries(
      Object.entries(networks).map(([name, network]) => [
        name,
        /^(\d+\.\d+\.\d+)\.0\/24$/.exec(network.ipam?.config?.[0]?.subnet ?? '')?.[1] ?? null
      ])
    )
  }
}

/** Replaces `${NAME}`, `${NAME:-default}`, `${NAME:?what it is}` and `$$` (a dollar sign). */
function interpolate(value: unknown, variables: Record<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => interpolate(one, variables))
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, interpolate(one, variables)]))
  }
  if (typeof value !== 'string') return value
  return value.replaceAll(
    /\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (all, name: string, operator: string, rest: string) => {
      if (all === '$$') return '$'
      const set = variables[name]
      if (set) return set
      if (operator === '-') return rest
      throw new Error(`Set ${name}${operator === '?' ? `: ${rest}` : ''}`)
    }
  )
}

function networksOf(networks: Networks): Record<string, string | null> {
  if (Array.isArray(networks)) return Object.fromEntries(networks.map((name) => [name, null]))
  return Object.fromEntries(
    Object.entries(networks).map(([name, { ipv4_address: address }]) => [name, address ?? null])
  )
}

/** Returns the command of a health check. Throws if there is none, because every service must have one. */
function commandOf(test: string[] | undefined, name: string): string[] {
  const [kind, ...words] = test ?? []
  if (kind === 'CMD') return words
  if (kind === 'CMD-SHELL') return ['/bin/sh', '-c', words[0] ?? '']
  throw new Error(`The service ${name} has no healthcheck`)
}

function needsOf(dependsOn: Record<string, { condition?: string }>, name: string): string[] {
  return Object.entries(dependsOn).map(([other, { condition }]) => {
    if (condition !== 'service_healthy')
      throw new Error(`${name} needs ${other}, but does not wait until it is healthy`)
    return other
  })
}

function inOrder(services: ComposeService[]): ComposeService[] {
  const ordered: ComposeService[] = []
  while (ordered.length < services.length) {
    const next = services.filter(
      (one) => !ordered.includes(one) && one.needs.every((need) => ordered.some(({ name }) => name === need))
    )
    if (next.length === 0) throw new Error('Services need each other in a circle, or one that does not exist')
    ordered.push(...next)
  }
  return ordered
}
