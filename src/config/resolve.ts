import { resolve as resolvePath } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScrapydDoorSettings } from '../server/scrapyd/settings.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { CANCEL_WAITS_MS } from '../shared/run-limits.ts'
import { API_REQUESTS_PER_SECOND } from '../server/limits.ts'
import { type ConfiguredSource, nodesSource, readSources } from './discovery-options.ts'
import type { Configuration, ConfiguredValue } from './read-files.ts'
import { type PluginSettings, readPluginLines } from './plugin-options.ts'
import { SCRAPYD_OPTIONS, SCRAPYD_SERVICES } from './scrapyd-options.ts'

/** What a host is set to, resolved: the command line, then the environment, then the configuration files, then defaults. */
export interface ServeOptions {
  dataDirectory: string
  bindAddress: string
  /** 0: any free one; null: no TCP at all. */
  port: number | null
  /** Somebody named the port: no other will do. */
  isPortNamed: boolean
  unixSocketPath: string | null
  credentials: { username: string; password: string } | null
  /** Holds at every start; null: what was set before, else what a file says, else one for each CPU. */
  localSlots: number | null
  /** From a file (`max_proc`): taken over when it has changed there. */
  configuredSlots: number | null
  pythonPath: string | null
  allowedHosts: string[]
  /** Between the steps of a cancel: after INT, after the second INT, after KILL; null: as the engine has them. */
  cancelWaitsSeconds: [number, number, number] | null
  /** As Scrapyd lays them out. Absent: in the data directory. null: none are written. */
  directories: {
    eggs?: string
    logs?: string | null
    /** A path, or a URL of a storage that Scrapy knows. */
    items?: string | null
    jobs?: string | null
  }
  /** Logs and item files kept for each spider; null: all. */
  jobsToKeep: number | null
  /** Projects without an egg: their settings module by their name. */
  settingsProjects: Record<string, string>
  door: Partial<ScrapydDoorSettings>
  /** Where nodes come from, besides what is set up in the UI. */
  discovery: ConfiguredSource[]
  plugins: PluginSettings[]
  /** Networks inside this one that webhooks may go to. */
  webhookNetworks: string
  /** How often each credential may ask the API; 0: as often as it likes; null: as the server has it. */
  apiRequestsPerSecond: number | null
}

/** As commander gives them: text, as typed. */
export interface ServeFlags {
  data?: string
  bind?: string
  port?: string
  unixSocket?: string
  username?: string
  password?: string
  localSlots?: string
  python?: string
  allowedHost?: string[]
}

export interface ResolvedOptions {
  options: ServeOptions
  /** Every option with its value in words and where it came from, for `scrapdeck config`. */
  listed: ListedOption[]
  /** What an operator should know, for the log: unknown names, values that have nothing to do here. */
  warnings: string[]
}

export interface ListedOption {
  section: string
  name: string
  value: string
  from: string
}

export const OWN_OPTIONS = [
  'data',
  'python',
  'local_slots',
  'allowed_hosts',
  'cancel_waits',
  'nodes',
  'discover',
  'plugins',
  'webhook_networks',
  'api_requests_per_second'
]
const KNOWN_SECTIONS = ['scrapyd', 'services', 'settings', 'scrapdeck', 'DEFAULT']

/** What a name outside the file is called there. */
export const VARIABLES: Record<string, string[]> = {
  bind_address: ['SCRAPDECK_BIND', 'SCRAPYD_BIND_ADDRESS'],
  http_port: ['SCRAPDECK_PORT', 'SCRAPYD_HTTP_PORT'],
  unix_socket_path: ['SCRAPDECK_UNIX_SOCKET', 'SCRAPYD_UNIX_SOCKET_PATH'],
  username: ['SCRAPDECK_USERNAME', 'SCRAPYD_USERNAME'],
  password: ['SCRAPDECK_PASSWORD', 'SCRAPYD_PASSWORD'],
  data: ['SCRAPDECK_DATA'],
  python: ['SCRAPDECK_PYTHON'],
  local_slots: ['SCRAPDECK_LOCAL_SLOTS'],
  allowed_hosts: ['SCRAPDECK_ALLOWED_HOST']
}

/**
 * Throws BAD_INPUT, with every option that is refused by name, the reason and what to do: nothing in a file is passed over in
 * silence. Empty variables count as absent, as in Scrapyd.
 */
export function resolveServeOptions(context: {
  flags: ServeFlags
  environment: Record<string, string | undefined>
  configuration: Configuration
  defaultDataDirectory: string
  /** Where relative directories begin, as in Scrapyd: where the service was started. */
  workingDirectory: string
  cpuCount: number
}): ResolvedOptions {
  const { flags, environment, configuration, workingDirectory } = context
  const listed: ListedOption[] = []
  const warnings: string[] = []
  const problems: string[] = []

  const pick = (section: 'scrapyd' | 'scrapdeck', name: string, flag?: { name: string; value: string | undefined }) => {
    if (flag?.value !== undefined) return { text: flag.value, from: flag.name }
    const variable = (VARIABLES[name] ?? []).find((one) => environment[one])
    if (variable !== undefined) return { text: environment[variable]!, from: variable }
    return attempt(() => configuration.get(section, name)) ?? null
  }
  const list = (section: string, name: string, value: string, picked: ConfiguredValue | null) => {
    listed.push({ section, name, value, from: picked?.from ?? 'default' })
  }
  const refuse = (picked: ConfiguredValue, what: string) => problems.push(`${picked.from}: ${what}`)

  const options: ServeOptions = {
    ...readListening(),
    credentials: readCredentials(),
    ...readSlots(),
    directories: readDirectories(),
    jobsToKeep: null,
    settingsProjects: readSettingsProjects(),
    door: {},
    ...readOwn()
  }
  const jobsToKeep = readWhole('jobs_to_keep', 'all')
  // 0 deletes nothing in Scrapyd, too (scrapyd-protocol.md, 6.4).
  options.jobsToKeep = jobsToKeep === 0 ? null : jobsToKeep
  options.door = readDoor()
  readRest()
  if (options.port === null && options.unixSocketPath === null) {
    problems.push(
      'http_port or bind_address is empty and there is no unix_socket_path: nobody could reach Scrapdeck. Set one of them.'
    )
  }
  if (problems.length > 0) throw new ScrapdeckError('BAD_INPUT', problems.join('\n'))
  return { options, listed, warnings }

  function readListening() {
    const bind = pick('scrapyd', 'bind_address', { name: '--bind', value: flags.bind })
    const port = pick('scrapyd', 'http_port', { name: '--port', value: flags.port })
    const socket = pick('scrapyd', 'unix_socket_path', { name: '--unix-socket', value: flags.unixSocket })
    // What is no number at all is refused as such, not taken for "no TCP" besides.
    const number = port === null ? 6800 : (whole(port, port.from === '--port' ? '--port' : 'http_port', 65_535) ?? 6800)
    // 0 is Scrapyd's word for "no TCP" and ours for "any free port": it means what whoever says it means.
    const isScrapydWord = port !== null && port.from !== '--port' && port.from !== 'SCRAPDECK_PORT'
    const hasTcp = bind?.text !== '' && !(isScrapydWord && number === 0)
    const unixSocketPath = socket === null || socket.text === '' ? null : resolvePath(workingDirectory, socket.text)
    list('scrapyd', 'bind_address', bind?.text ?? '127.0.0.1', bind)
    list('scrapyd', 'http_port', hasTcp ? String(number) : 'no TCP', port)
    list('scrapyd', 'unix_socket_path', unixSocketPath ?? '', socket)
    return {
      bindAddress: bind?.text ?? '127.0.0.1',
      port: hasTcp ? number : null,
      isPortNamed: port !== null,
      unixSocketPath
    }
  }

  function readCredentials(): ServeOptions['credentials'] {
    const username = pick('scrapyd', 'username', { name: '--username', value: flags.username })
    const password = pick('scrapyd', 'password', { name: '--password', value: flags.password })
    const isNamed = username !== null && username.text !== ''
    const hasPassword = password !== null && password.text !== ''
    list('scrapyd', 'username', isNamed ? username.text : 'made on the first start', isNamed ? username : null)
    list('scrapyd', 'password', hasPassword ? '(set)' : 'made on the first start', hasPassword ? password : null)
    if (isNamed !== hasPassword) {
      refuse(
        (isNamed ? username : password)!,
        'Give the user name and the password together, or neither: then they are made for you. Without credentials, as Scrapyd would start here, Scrapdeck does not.'
      )
    }
    if (!isNamed && !hasPassword && username !== null) {
      warnings.push(
        `${username.from}: username is empty: Scrapyd would let everybody in here. Scrapdeck asks for the user name and the password that it makes on the first start; "scrapdeck credentials" shows them.`
      )
    }
    if (isNamed && username.text.includes(':')) {
      refuse(username, 'username contains a colon, which Basic authentication cannot carry. Choose one without.')
    }
    return isNamed && hasPassword ? { username: username.text, password: password.text } : null
  }

  function readSlots(): Pick<ServeOptions, 'localSlots' | 'configuredSlots'> {
    const own = pick('scrapdeck', 'local_slots', { name: '--local-slots', value: flags.localSlots })
    const isPinned = own !== null && (own.from === '--local-slots' || own.from === 'SCRAPDECK_LOCAL_SLOTS')
    const ownCount = own === null ? null : whole(own, isPinned ? own.from : 'local_slots', 1000)
    const total = pick('scrapyd', 'max_proc')
    const perCpu = pick('scrapyd', 'max_proc_per_cpu')
    const totalCount = total === null ? 0 : (whole(total, 'max_proc', 1000) ?? 0)
    const perCpuCount = perCpu === null ? 4 : (whole(perCpu, 'max_proc_per_cpu', 1000) ?? 4)
    const scrapydCount = total === null && perCpu === null ? null : totalCount || perCpuCount * context.cpuCount
    const configuredSlots = (isPinned ? null : ownCount) ?? scrapydCount
    list('scrapdeck', 'local_slots', String(ownCount ?? scrapydCount ?? context.cpuCount), own ?? total ?? perCpu)
    list('scrapyd', 'max_proc', total === null ? 'see local_slots' : String(totalCount), total)
    list('scrapyd', 'max_proc_per_cpu', perCpu === null ? 'see local_slots' : String(perCpuCount), perCpu)
    // None at all is no number for the UI to change: it turns the local node off.
    return { localSlots: isPinned || ownCount === 0 ? ownCount : null, configuredSlots }
  }

  function readDirectories(): ServeOptions['directories'] {
    const directories: ServeOptions['directories'] = {}
    for (const [kind, name] of [
      ['logs', 'logs_dir'],
      ['items', 'items_dir'],
      ['jobs', 'jobs_dir'],
      ['eggs', 'eggs_dir']
    ] as const) {
      const picked = pick('scrapyd', name)
      if (picked === null) {
        list('scrapyd', name, kind === 'jobs' ? '' : `in the data directory (local/${kind})`, null)
        continue
      }
      if (kind === 'eggs' && picked.text === '') {
        refuse(
          picked,
          'eggs_dir is empty. Name a directory, or remove the line: eggs are then kept in the data directory.'
        )
        continue
      }
      const value = picked.text === '' ? null : localPath(picked.text, workingDirectory, kind === 'items')
      list('scrapyd', name, value ?? '', picked)
      if (kind === 'eggs') directories.eggs = value!
      else directories[kind] = value
    }
    return directories
  }

  function readSettingsProjects(): Record<string, string> {
    const projects: Record<string, string> = {}
    for (const project of configuration.keys('settings')) {
      const settingsModule = attempt(() => configuration.get('settings', project))
      if (!settingsModule) continue
      list('settings', project, settingsModule.text, settingsModule)
      if (settingsModule.text === '')
        refuse(settingsModule, `${project} names no settings module. Write "${project} = package.settings".`)
      projects[project] = settingsModule.text
    }
    return projects
  }

  function readOwn() {
    for (const name of configuration.keys('scrapdeck').filter((key) => !OWN_OPTIONS.includes(key))) {
      refuse(
        configuration.get('scrapdeck', name)!,
        `[scrapdeck] has no option "${name}". It has: ${OWN_OPTIONS.join(', ')}.`
      )
    }
    const data = pick('scrapdeck', 'data', { name: '--data', value: flags.data })
    const python = pick('scrapdeck', 'python', { name: '--python', value: flags.python })
    const hosts =
      flags.allowedHost === undefined
        ? pick('scrapdeck', 'allowed_hosts')
        : { text: flags.allowedHost.join(','), from: '--allowed-host' }
    const allowedHosts = (hosts?.text ?? '').split(/[\s,]+/).filter((host) => host !== '')
    const dataDirectory = data === null ? context.defaultDataDirectory : resolvePath(workingDirectory, data.text)
    list('scrapdeck', 'data', dataDirectory, data)
    list('scrapdeck', 'python', python?.text ?? 'found by itself', python)
    list('scrapdeck', 'allowed_hosts', allowedHosts.join(', '), hosts)
    const cancelWaitsSeconds = readCancelWaits()
    const discovery = readDiscovery()
    const extensions = { plugins: readPlugins(), webhookNetworks: readWebhookNetworks() }
    const apiRequestsPerSecond = readApiRequests()
    return {
      dataDirectory,
      pythonPath: python?.text || null,
      allowedHosts,
      cancelWaitsSeconds,
      discovery,
      apiRequestsPerSecond,
      ...extensions
    }
  }

  function readPlugins(): PluginSettings[] {
    const picked = pick('scrapdeck', 'plugins')
    const { plugins, problems: wrong } = readPluginLines(picked?.text ?? '', workingDirectory)
    for (const problem of wrong) refuse(picked!, problem)
    // By name: their options may hold passwords.
    list('scrapdeck', 'plugins', plugins.map(({ name }) => name).join(', '), picked)
    return plugins
  }

  function readApiRequests(): number | null {
    const picked = pick('scrapdeck', 'api_requests_per_second')
    list('scrapdeck', 'api_requests_per_second', picked?.text ?? String(API_REQUESTS_PER_SECOND), picked)
    if (picked === null) return null
    if (/^\d{1,6}$/.test(picked.text.trim())) return Number(picked.text)
    refuse(picked, `api_requests_per_second takes a whole number, 0 for no limit, not "${picked.text}".`)
    return null
  }

  /** The engine reads them; what it cannot read stops the start, too. */
  function readWebhookNetworks(): string {
    const picked = pick('scrapdeck', 'webhook_networks')
    list('scrapdeck', 'webhook_networks', picked?.text ?? '', picked)
    return picked?.text ?? ''
  }

  function readDiscovery(): ConfiguredSource[] {
    const nodes = pick('scrapdeck', 'nodes')
    const discover = pick('scrapdeck', 'discover')
    const lines = (nodes?.text ?? '').split('\n').filter((line) => line.trim() !== '')
    const { sources, problems: wrong } = readSources(discover?.text ?? '', workingDirectory)
    for (const problem of wrong) refuse(discover!, problem)
    // Counted, not shown: sources may hold passwords.
    list('scrapdeck', 'nodes', lines.length === 0 ? '' : `${lines.length} listed`, nodes)
    list('scrapdeck', 'discover', sources.map(({ id }) => id).join(', '), discover)
    return [...(lines.length === 0 ? [] : [nodesSource(lines.join('\n'))]), ...sources]
  }

  function readCancelWaits(): ServeOptions['cancelWaitsSeconds'] {
    const picked = pick('scrapdeck', 'cancel_waits')
    list('scrapdeck', 'cancel_waits', picked?.text ?? CANCEL_WAITS_MS.map((waitMs) => waitMs / 1000).join(' '), picked)
    if (picked === null) return null
    const waits = /^(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})$/.exec(picked.text.trim())?.slice(1).map(Number)
    if (waits !== undefined && waits.every((wait) => wait >= 1)) return waits as [number, number, number]
    refuse(
      picked,
      `cancel_waits takes three numbers of seconds (after INT, after the second INT, after KILL), such as "30 15 15", not "${picked.text}".`
    )
    return null
  }

  function readDoor(): Partial<ScrapydDoorSettings> {
    const door: Partial<ScrapydDoorSettings> = {}
    const nodeName = pick('scrapyd', 'node_name')
    if (nodeName !== null) door.nodeName = nodeName.text
    list('scrapyd', 'node_name', nodeName?.text ?? 'the name of this host', nodeName)
    const debug = pick('scrapyd', 'debug')
    if (debug !== null) door.debug = flag(debug, 'debug')
    list('scrapyd', 'debug', door.debug ? 'on' : 'off', debug)
    const prefixHeader = pick('scrapyd', 'prefix_header')
    if (prefixHeader !== null) door.prefixHeader = prefixHeader.text
    list('scrapyd', 'prefix_header', prefixHeader?.text ?? 'x-forwarded-prefix', prefixHeader)
    const finished = readWhole('finished_to_keep', '100')
    const isMemory = !pick('scrapyd', 'jobstorage')?.text.endsWith('.SqliteJobStorage')
    // Scrapyd's store in memory keeps all of them then, the one in SQLite none (scrapyd-protocol.md, 6.5).
    if (finished !== null) door.finishedToKeep = finished === 0 && isMemory ? Number.POSITIVE_INFINITY : finished
    if (options.directories.logs === null) door.hasLogs = false
    const { items } = options.directories
    if (items === null || (items !== undefined && isUrl(items))) door.hasItems = false
    const disabled = readServices()
    if (disabled.size > 0) door.disabledServices = disabled
    return door
  }

  function readServices(): Set<string> {
    const disabled = new Set<string>()
    for (const name of configuration.keys('services')) {
      const service = attempt(() => configuration.get('services', name))
      if (!service) continue
      list('services', name, service.text === '' ? '(disabled)' : service.text, service)
      if (service.text === '') {
        disabled.add(name)
        if (!(name in SCRAPYD_SERVICES)) warnings.push(`${service.from}: there is no service ${name} to disable.`)
      } else if (SCRAPYD_SERVICES[name] !== service.text) {
        refuse(
          service,
          `${name} = ${service.text} is not a service of Scrapyd 1.6 under its own name, and Scrapdeck runs no Python in the service. ` +
            'Remove the line, or keep Scrapyd for this service and add it to Scrapdeck as a node.'
        )
      }
    }
    return disabled
  }

  /** What has no code of its own: values that must be the default, values without use, names nobody knows. */
  function readRest(): void {
    for (const [name, treatment] of Object.entries(SCRAPYD_OPTIONS)) {
      if (treatment.kind === 'honoured') continue
      const picked = pick('scrapyd', name)
      if (treatment.kind === 'needless') {
        list('scrapyd', name, `${picked?.text ?? ''} (without effect: ${treatment.why})`.trim(), picked)
      } else {
        list('scrapyd', name, picked?.text ?? treatment.values[0]!, picked)
        if (picked !== null && !treatment.values.includes(picked.text)) {
          refuse(picked, `${name} = ${picked.text} is not ${treatment.values.join(' or ')}: ${treatment.why}`)
        }
      }
    }
    for (const name of configuration.keys('scrapyd').filter((key) => !(key in SCRAPYD_OPTIONS))) {
      warnings.push(`${configuration.get('scrapyd', name)?.from}: Scrapyd has no option "${name}"; it has no effect.`)
    }
    for (const { name, file } of configuration.sections.filter((section) => !KNOWN_SECTIONS.includes(section.name))) {
      warnings.push(`${file}: the section [${name}] is none of Scrapyd's; it has no effect.`)
    }
  }

  function readWhole(name: string, absent: string): number | null {
    const picked = pick('scrapyd', name)
    const value = picked === null ? null : whole(picked, name, 1_000_000_000)
    list('scrapyd', name, value === null ? absent : String(value), picked)
    return value
  }

  function whole(picked: ConfiguredValue, name: string, maximum: number): number | null {
    const text = name === 'http_port' && picked.text === '' ? '0' : picked.text
    const value = Number(text)
    if (/^\d+$/.test(text) && value <= maximum) return value
    // A flag says its name itself.
    const what = `${name} takes a whole number from 0 to ${maximum}, not "${picked.text}".`
    if (name === picked.from) problems.push(what)
    else refuse(picked, what)
    return null
  }

  function flag(picked: ConfiguredValue, name: string): boolean {
    const text = picked.text.toLowerCase()
    if (['1', 'yes', 'true', 'on'].includes(text)) return true
    if (!['0', 'no', 'false', 'off'].includes(text)) refuse(picked, `${name} is on or off, not "${picked.text}".`)
    return false
  }

  function attempt<T>(read: () => T): T | null {
    try {
      return read()
    } catch (error) {
      if (!problems.includes((error as Error).message)) problems.push((error as Error).message)
      return null
    }
  }
}

/** `items_dir` may be a URL of a storage elsewhere; `file:` is a path in other words, as in Scrapyd. */
export function localPath(text: string, workingDirectory: string, mayBeUrl: boolean): string {
  if (mayBeUrl && /^file:\/\//i.test(text)) return fileURLToPath(text)
  return mayBeUrl && isUrl(text) ? text : resolvePath(workingDirectory, text)
}

/** One letter is a drive of Windows. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}
