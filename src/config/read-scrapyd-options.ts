import { readFileSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import type { ScrapydEndpointSettings } from '../server/scrapyd/settings.ts'
import type { OptionReader } from './option-reader.ts'
import type { ConfiguredValue } from './read-files.ts'
import type { ServeOptions } from './serve-options.ts'
import { fileURLToPath } from 'node:url'

export const SCRAPYD_SERVICES: Readonly<Record<string, string>> = {
  'schedule.json': 'scrapyd.webservice.Schedule',
  'cancel.json': 'scrapyd.webservice.Cancel',
  'status.json': 'scrapyd.webservice.Status',
  'addversion.json': 'scrapyd.webservice.AddVersion',
  'listprojects.json': 'scrapyd.webservice.ListProjects',
  'listversions.json': 'scrapyd.webservice.ListVersions',
  'listspiders.json': 'scrapyd.webservice.ListSpiders',
  'delproject.json': 'scrapyd.webservice.DeleteProject',
  'delversion.json': 'scrapyd.webservice.DeleteVersion',
  'listjobs.json': 'scrapyd.webservice.ListJobs',
  'daemonstatus.json': 'scrapyd.webservice.DaemonStatus'
}

export function readScrapydOptions(options: OptionReader) {
  const listening = readListening(options)
  const credentials = readCredentials(options)
  const slots = readSlots(options)
  const directories = readDirectories(options)
  const settingsProjects = readSettingsProjects(options)
  // 0 deletes nothing, as in Scrapyd (scrapyd-protocol.md, 6.4).
  const jobsToKeep = readWhole(options, 'jobs_to_keep', 'all') || null
  const scrapyd = readScrapydEndpoints(options, directories)
  return { ...listening, credentials, ...slots, directories, settingsProjects, jobsToKeep, scrapyd }
}

export function readListening(options: OptionReader) {
  const { workingDirectory } = options.context
  const bind = options.pick('scrapyd', 'bind_address')
  const port = options.pick('scrapyd', 'http_port')
  const socket = options.pick('scrapyd', 'unix_socket_path')
  // Report an invalid number only as invalid, and not also as "no TCP".
  const number =
    port === null ? 6800 : (options.whole(port, port.from === '--port' ? '--port' : 'http_port', 65_535) ?? 6800)
  // 0 means "no TCP" in Scrapyd's files and variables, but "any free port" in ours.
  const isScrapydWord = port !== null && port.from !== '--port' && port.from !== 'SCRAPDECK_PORT'
  const hasTcp = bind?.text !== '' && !(isScrapydWord && number === 0)
  const unixSocketPath = socket === null || socket.text === '' ? null : resolvePath(workingDirectory, socket.text)
  options.list('scrapyd', 'bind_address', bind?.text ?? '127.0.0.1', bind)
  options.list('scrapyd', 'http_port', hasTcp ? String(number) : 'no TCP', port)
  options.list('scrapyd', 'unix_socket_path', unixSocketPath ?? '', socket)
  return {
    bindAddress: bind?.text ?? '127.0.0.1',
    port: hasTcp ? number : null,
    isPortNamed: port !== null,
    unixSocketPath
  }
}

function readCredentials(options: OptionReader): ServeOptions['credentials'] {
  const username = options.pick('scrapyd', 'username')
  const password = options.pick('scrapyd', 'password') ?? fromFile(options)
  const isNamed = username !== null && username.text !== ''
  const hasPassword = password !== null && password.text !== ''
  options.list('scrapyd', 'username', isNamed ? username.text : 'generated on first start', isNamed ? username : null)
  options.list('scrapyd', 'password', hasPassword ? '(set)' : 'generated on first start', hasPassword ? password : null)
  if (isNamed !== hasPassword) {
    options.refuse(
      (isNamed ? username : password)!,
      'Set both the user name and the password, or neither (they are then generated). Unlike Scrapyd, Scrapdeck does not start without credentials.'
    )
  }
  if (!isNamed && !hasPassword && username !== null) {
    options.warn(
      `${username.from}: username is empty: Scrapyd would let anyone in. Scrapdeck requires the user name and password that it generates on first start; "scrapdeck credentials" shows them.`
    )
  }
  if (isNamed && username.text.includes(':')) {
    options.refuse(username, 'username contains a colon, which Basic authentication cannot carry. Choose one without.')
  }
  return isNamed && hasPassword ? { username: username.text, password: password.text } : null
}

/** Containers get the password in a file, so that no variable contains it. */
function fromFile(options: OptionReader): ConfiguredValue | null {
  const file = options.pick('scrapdeck', 'password_file')
  options.list('scrapdeck', 'password_file', file?.text ?? '', file)
  if (file === null || file.text === '') return null
  try {
    const text = readFileSync(resolvePath(options.context.workingDirectory, file.text), 'utf8').split(/\r?\n/)[0]!
    if (text !== '') return { text, from: file.from }
    options.refuse(file, `the first line of ${file.text} is empty: it must be the password.`)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    options.refuse(file, `the password file ${file.text} cannot be read (${code}).`)
  }
  return null
}

function readSlots(options: OptionReader): Pick<ServeOptions, 'localSlots' | 'configuredSlots'> {
  const { cpuCount } = options.context
  const own = options.pick('scrapdeck', 'local_slots')
  const isPinned = own !== null && (own.from === '--local-slots' || own.from === 'SCRAPDECK_LOCAL_SLOTS')
  const ownCount = own === null ? null : options.whole(own, isPinned ? own.from : 'local_slots', 1000)
  const total = options.pick('scrapyd', 'max_proc')
  const perCpu = options.pick('scrapyd', 'max_proc_per_cpu')
  const totalCount = total === null ? 0 : (options.whole(total, 'max_proc', 1000) ?? 0)
  const perCpuCount = perCpu === null ? 4 : (options.whole(perCpu, 'max_proc_per_cpu', 1000) ?? 4)
  const scrapydCount = total === null && perCpu === null ? null : totalCount || perCpuCount * cpuCount
  const configuredSlots = (isPinned ? null : ownCount) ?? scrapydCount
  options.list('scrapdeck', 'local_slots', String(ownCount ?? scrapydCount ?? cpuCount), own ?? total ?? perCpu)
  options.list('scrapyd', 'max_proc', total === null ? 'see local_slots' : String(totalCount), total)
  options.list('scrapyd', 'max_proc_per_cpu', perCpu === null ? 'see local_slots' : String(perCpuCount), perCpu)
  return { localSlots: isPinned || ownCount === 0 ? ownCount : null, configuredSlots }
}

function readDirectories(options: OptionReader): ServeOptions['directories'] {
  const directories: ServeOptions['directories'] = {}
  for (const [kind, name] of [
    ['logs', 'logs_dir'],
    ['items', 'items_dir'],
    ['jobs', 'jobs_dir'],
    ['eggs', 'eggs_dir']
  ] as const) {
    const picked = options.pick('scrapyd', name)
    if (picked === null) {
      options.list('scrapyd', name, kind === 'jobs' ? '' : `in the data directory (local/${kind})`, null)
      continue
    }
    if (kind === 'eggs' && picked.text === '') {
      options.refuse(
        picked,
        'eggs_dir is empty. Set a directory, or remove the line: eggs are then kept in the data directory.'
      )
      continue
    }
    const value = picked.text === '' ? null : localPath(picked.text, options.context.workingDirectory, kind === 'items')
    options.list('scrapyd', name, value ?? '', picked)
    if (kind === 'eggs') directories.eggs = value!
    else directories[kind] = value
  }
  return directories
}

function readSettingsProjects(options: OptionReader): Record<string, string> {
  const projects: Record<string, string> = {}
  for (const project of options.context.configuration.keys('settings')) {
    const settingsModule = options.configured('settings', project)
    if (!settingsModule) continue
    options.list('settings', project, settingsModule.text, settingsModule)
    if (settingsModule.text === '')
      options.refuse(settingsModule, `${project} names no settings module. Write "${project} = package.settings".`)
    projects[project] = settingsModule.text
  }
  return projects
}

function readScrapydEndpoints(
  options: OptionReader,
  { logs, items }: ServeOptions['directories']
): Partial<ScrapydEndpointSettings> {
  const settings: Partial<ScrapydEndpointSettings> = {}
  const nodeName = options.pick('scrapyd', 'node_name')
  if (nodeName !== null) settings.nodeName = nodeName.text
  options.list('scrapyd', 'node_name', nodeName?.text ?? 'the name of this host', nodeName)
  const debug = options.pick('scrapyd', 'debug')
  if (debug !== null) settings.debug = options.isOn(debug, 'debug')
  options.list('scrapyd', 'debug', settings.debug ? 'on' : 'off', debug)
  const prefixHeader = options.pick('scrapyd', 'prefix_header')
  if (prefixHeader !== null) settings.prefixHeader = prefixHeader.text
  options.list('scrapyd', 'prefix_header', prefixHeader?.text ?? 'x-forwarded-prefix', prefixHeader)
  const finished = readWhole(options, 'finished_to_keep', '100')
  const isMemory = !options.pick('scrapyd', 'jobstorage')?.text.endsWith('.SqliteJobStorage')
  // With 0, Scrapyd's memory storage keeps all finished jobs, and its SQLite storage keeps none (scrapyd-protocol.md,
  // 6.5).
  if (finished !== null) settings.finishedToKeep = finished === 0 && isMemory ? Number.POSITIVE_INFINITY : finished
  if (logs === null) settings.hasLogs = false
  if (items === null || (items !== undefined && isUrl(items))) settings.hasItems = false
  const disabled = readServices(options)
  if (disabled.size > 0) settings.disabledServices = disabled
  return settings
}

function readServices(options: OptionReader): Set<string> {
  const disabled = new Set<string>()
  for (const name of options.context.configuration.keys('services')) {
    const service = options.configured('services', name)
    if (!service) continue
    options.list('services', name, service.text === '' ? '(disabled)' : service.text, service)
    if (service.text === '') {
      disabled.add(name)
      if (!(name in SCRAPYD_SERVICES)) options.warn(`${service.from}: there is no service ${name} to disable.`)
    } else if (SCRAPYD_SERVICES[name] !== service.text) {
      options.refuse(
        service,
        `${name} = ${service.text} is not a service of Scrapyd 1.6 under its own name, and Scrapdeck runs no Python in the service. ` +
          'Remove the line, or keep Scrapyd for this service and add it to Scrapdeck as a node.'
      )
    }
  }
  return disabled
}

function readWhole(options: OptionReader, name: string, absent: string): number | null {
  const picked = options.pick('scrapyd', name)
  const value = picked === null ? null : options.whole(picked, name, 1_000_000_000)
  options.list('scrapyd', name, value === null ? absent : String(value), picked)
  return value
}

/** The remote URL of an `items_dir` is returned unchanged. `file:` URLs become paths, as in Scrapyd. */
export function localPath(text: string, workingDirectory: string, mayBeUrl: boolean): string {
  if (mayBeUrl && /^file:\/\//i.test(text)) return fileURLToPath(text)
  return mayBeUrl && isUrl(text) ? text : resolvePath(workingDirectory, text)
}

/** A single letter before the colon is a Windows drive, not a scheme. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}
