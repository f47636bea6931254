import { resolve as resolvePath } from 'node:path'
import { CANCEL_WAITS_MS } from '../shared/run-limits.ts'
import { ACCESS_OPTIONS, readAccessOptions } from './read-access-options.ts'
import { type ConfiguredSource, nodesSource, readSources } from './discovery-options.ts'
import type { OptionReader } from './option-reader.ts'
import { type PluginSettings, readPluginLines } from './plugin-options.ts'
import type { ServeOptions } from './serve-options.ts'

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
  ...ACCESS_OPTIONS
]

/** Reads the section [scrapdeck], its flags and its variables. */
export function readOwnOptions(options: OptionReader) {
  const { flags } = options.context
  for (const name of options.context.configuration.keys('scrapdeck').filter((key) => !OWN_OPTIONS.includes(key))) {
    options.refuse(
      options.context.configuration.get('scrapdeck', name)!,
      `[scrapdeck] has no option "${name}". It has: ${OWN_OPTIONS.join(', ')}.`
    )
  }
  const dataDirectory = readDataDirectory(options)
  const python = options.pick('scrapdeck', 'python', { name: '--python', value: flags.python })
  const hosts =
    flags.allowedHost === undefined
      ? options.pick('scrapdeck', 'allowed_hosts')
      : { text: flags.allowedHost.join(','), from: '--allowed-host' }
  const allowedHosts = (hosts?.text ?? '').split(/[\s,]+/).filter((host) => host !== '')
  options.list('scrapdeck', 'python', python?.text ?? 'detected automatically', python)
  options.list('scrapdeck', 'allowed_hosts', allowedHosts.join(', '), hosts)
  return {
    dataDirectory,
    pythonPath: python?.text || null,
    allowedHosts,
    cancelWaitsSeconds: readCancelWaits(options),
    discovery: readDiscovery(options),
    plugins: readPlugins(options),
    webhookNetworks: readWebhookNetworks(options),
    ...readAccessOptions(options)
  }
}

export function readDataDirectory(options: OptionReader): string {
  const { flags, workingDirectory, defaultDataDirectory } = options.context
  const data = options.pick('scrapdeck', 'data', { name: '--data', value: flags.data })
  const directory = data === null ? defaultDataDirectory : resolvePath(workingDirectory, data.text)
  options.list('scrapdeck', 'data', directory, data)
  return directory
}

function readPlugins(options: OptionReader): PluginSettings[] {
  const picked = options.pick('scrapdeck', 'plugins')
  const { plugins, problems: wrong } = readPluginLines(picked?.text ?? '', options.context.workingDirectory)
  for (const problem of wrong) options.refuse(picked!, problem)
  // By name only: their options may contain passwords.
  options.list('scrapdeck', 'plugins', plugins.map(({ name }) => name).join(', '), picked)
  return plugins
}

/** The engine parses them; an invalid one also prevents the start. */
function readWebhookNetworks(options: OptionReader): string {
  const picked = options.pick('scrapdeck', 'webhook_networks')
  options.list('scrapdeck', 'webhook_networks', picked?.text ?? '', picked)
  return picked?.text ?? ''
}

function readDiscovery(options: OptionReader): ConfiguredSource[] {
  const nodes = options.pick('scrapdeck', 'nodes')
  const discover = options.pick('scrapdeck', 'discover')
  const lines = (nodes?.text ?? '').split('\n').filter((line) => line.trim() !== '')
  const { sources, problems: wrong } = readSources(discover?.text ?? '', options.context.workingDirectory)
  for (const problem of wrong) options.refuse(discover!, problem)
  // Counted, not shown: sources may contain passwords.
  options.list('scrapdeck', 'nodes', lines.length === 0 ? '' : `${lines.length} listed`, nodes)
  options.list('scrapdeck', 'discover', sources.map(({ id }) => id).join(', '), discover)
  return [...(lines.length === 0 ? [] : [nodesSource(lines.join('\n'))]), ...sources]
}

function readCancelWaits(options: OptionReader): ServeOptions['cancelWaitsSeconds'] {
  const picked = options.pick('scrapdeck', 'cancel_waits')
  options.list(
    'scrapdeck',
    'cancel_waits',
    picked?.text ?? CANCEL_WAITS_MS.map((waitMs) => waitMs / 1000).join(' '),
    picked
  )
  if (picked === null) return null
  const waits = /^(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})$/.exec(picked.text.trim())?.slice(1).map(Number)
  if (waits !== undefined && waits.every((wait) => wait >= 1)) return waits as [number, number, number]
  options.refuse(
    picked,
    `cancel_waits takes three numbers of seconds (after INT, after the second INT, after KILL), such as "30 15 15", not "${picked.text}".`
  )
  return null
}
