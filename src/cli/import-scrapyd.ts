import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type ImportCounts, type ImportOptions, importScrapyd } from '../engine/api/import/import-scrapyd.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { listScrapydFiles, readConfiguration } from '../config/read-files.ts'
import { isUrl, localPath } from '../config/read-scrapyd-options.ts'
import { readPasswordFile } from '../config/option-reader.ts'
import { parsePostgresAddress } from '../engine/runtime/postgres-address.ts'
import { processExists } from '../engine/runtime/process-identity.ts'
import { readSettingsFile } from '../engine/runtime/regular-file.ts'
import type { ServeOptions } from '../config/serve-options.ts'

export interface ImportFlags {
  /** Scrapyd's configuration file. The default is the files that Scrapyd reads when started in the given directory. */
  config?: string
  /** The configuration file of the Scrapdeck service that takes over. */
  serviceConfig?: string
  dryRun?: boolean
  evenIfRunning?: boolean
  /** The address of the database in which a shared queue has its table `spider_job`. */
  sharedQueue?: string
  passwordFile?: string
  executionRef?: string
}

/** The address and the data directories of a Scrapyd that was started in a given directory. */
interface StoppedScrapyd extends Omit<ImportOptions['source'], 'sharedQueue'> {
  address: string | null
}

/** Runs `scrapdeck import-scrapyd`. Throws BAD_INPUT if nothing is found or Scrapyd is running. */
export async function runImport(
  directory: string,
  flags: ImportFlags,
  options: ServeOptions,
  print: (line: string) => void
): Promise<ImportCounts> {
  const root = resolve(directory)
  const scrapyd = findScrapyd(root, flags.config)
  const { sharedQueue: url, passwordFile, executionRef = null } = flags
  const password = passwordFile === undefined ? null : readPasswordFile(passwordFile)
  const sharedQueue = url === undefined ? undefined : { address: parsePostgresAddress(url, password), executionRef }
  const places = [scrapyd.eggs, scrapyd.logs, scrapyd.items, scrapyd.databases].filter((place) => place !== null)
  if (sharedQueue === undefined && !places.some((place) => existsSync(place))) {
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.no_scrapyd_data_found', { places }))
  }
  if (!flags.evenIfRunning) await refuseRunning(root, scrapyd.address)
  for (const [noun, place] of Object.entries({
    eggs: scrapyd.eggs,
    databases: scrapyd.databases,
    logs: scrapyd.logs,
    items: scrapyd.items
  })) {
    print(`${noun.padEnd(9)} ${place ?? 'none'}`)
  }
  const counts = await importScrapyd({
    source: { ...scrapyd, sharedQueue },
    dataDirectory: options.dataDirectory,
    directories: localOnly(options.directories),
    encryption: options.encryption,
    s3: options.s3,
    blobsDirectory: options.blobsDirectory,
    dryRun: flags.dryRun ?? false,
    report: print
  })
  if (flags.dryRun) print('Dry run: nothing was written. Run again without --dry-run to import.')
  else if (counts.pending.taken > 0) {
    print('Start the service: it runs the pending jobs.')
    const kept = sharedQueue === undefined ? scrapyd.databases : `the table spider_job of ${sharedQueue.address.name}`
    print(`They are still in ${kept}: a Scrapyd started there again would run them a second time.`)
  }
  if (scrapyd.settingsProjects.length > 0) {
    print(
      `Scrapyd has projects in [settings] (${scrapyd.settingsProjects.join(', ')}): the service needs the same section.`
    )
  }
  return counts
}

/**
 * Finds the address and directories of the Scrapyd to import. Accepts configuration files of other users, because the
 * operator named the directory or the file.
 */
function findScrapyd(root: string, configFile: string | undefined): StoppedScrapyd {
  const configuration =
    configFile === undefined
      ? readConfiguration(listScrapydFiles({ directory: root, homeDirectory: homedir() }), { anyOwnerIn: root })
      : readConfiguration([{ path: configFile, origin: 'named' }], { anyOwnerIn: dirname(configFile) })
  const get = (name: string, standard: string) => configuration.get('scrapyd', name)?.text ?? standard
  const place = (name: string, standard: string) => {
    const text = get(name, standard)
    const path = text === '' ? null : localPath(text, root, name === 'items_dir')
    return path === null || isUrl(path) ? null : path
  }
  const port = get('http_port', '6800')
  const host = get('bind_address', '127.0.0.1').replace(/^(0\.0\.0\.0|::)$/, '127.0.0.1')
  return {
    eggs: place('eggs_dir', 'eggs') ?? join(root, 'eggs'),
    logs: place('logs_dir', 'logs'),
    items: place('items_dir', ''),
    databases: get('dbs_dir', 'dbs') === ':memory:' ? null : place('dbs_dir', 'dbs'),
    settingsProjects: configuration.keys('settings'),
    address:
      port === '0' || port === '' || host === '' ? null : `http://${host.includes(':') ? `[${host}]` : host}:${port}/`
  }
}

/** A running Scrapyd would change the data during the import and would also start the imported pending jobs. */
async function refuseRunning(root: string, address: string | null): Promise<void> {
  const pidFile = join(root, 'twistd.pid')
  const pid = Number(readSettingsFile(pidFile)?.trim() ?? 0)
  if (Number.isInteger(pid) && pid > 1 && processExists(pid)) {
    refuse(`${pidFile} names the process ${pid}, which runs.`)
  }
  if (address === null) return
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) })
  const listens = await once(socket, 'connect', { signal: AbortSignal.timeout(2_000) }).catch(() => null)
  socket.destroy()
  if (listens !== null) refuse(`Something listens on ${address}.`)
}

function refuse(what: string): never {
  throw new ScrapdeckError('BAD_INPUT', sentence('cli.scrapyd_runs', { what }))
}

/** Drops item storage that is not on this machine, because the import cannot write to it. */
function localOnly(directories: ServeOptions['directories']): ServeOptions['directories'] {
  const { items } = directories
  return items !== undefined && items !== null && isUrl(items) ? { ...directories, items: null } : directories
}
