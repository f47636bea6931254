import type { VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { showUnseen } from '../../shared/unseen.ts'
import { isModuleName } from './names.ts'
import { EGG_LIMITS, openZipArchive, type ZipArchive } from './zip-archive.ts'

export interface EggFacts {
  /** From PKG-INFO, or METADATA in a wheel; null if the file has no name (Scrapyd accepts an empty PKG-INFO). */
  name: string | null
  version: VersionName | null
  settingsModule: string
}

const METADATA_LIMIT_BYTES = 1024 * 1024

/**
 * Checks that Scrapyd can run this egg (scrapyd-protocol.md, 4.3) and that it is safe to send to nodes. Throws
 * EGG_NOT_A_ZIP, EGG_TOO_LARGE, EGG_UNSAFE, EGG_NO_METADATA or EGG_NO_SETTINGS.
 */
export async function inspectEgg(bytes: Uint8Array): Promise<EggFacts> {
  return inspectArchive(await openZipArchive(bytes, EGG_LIMITS))
}

/**
 * Returns the metadata file of the egg itself, or else of the first top-level distribution, as in a wheel.
 * pkg_resources does the same.
 */
function metadataFileOf(names: readonly string[]): string | null {
  if (names.includes('EGG-INFO/PKG-INFO')) return 'EGG-INFO/PKG-INFO'
  const [folder] = names.flatMap((name) => /^[^/]+\.(?:dist|egg)-info(?=\/)/i.exec(name)?.[0] ?? [])
  return folder === undefined ? null : `${folder}/${/\.dist-info$/i.test(folder) ? 'METADATA' : 'PKG-INFO'}`
}

export async function inspectArchive(archive: ZipArchive): Promise<EggFacts> {
  const file = metadataFileOf(archive.names)
  const packageInfo = file === null ? null : await archive.read(file, METADATA_LIMIT_BYTES)
  if (file === null || packageInfo === null) {
    throw new ScrapdeckError('EGG_NO_METADATA', sentence('projects.no_metadata'))
  }
  const entryPoints = await archive.read(`${file.split('/')[0]}/entry_points.txt`, METADATA_LIMIT_BYTES)
  const settingsModule = settingsModuleOf(entryPoints?.toString('utf8') ?? '')
  const header = (name: string) => headerOf(packageInfo.toString('utf8'), name)
  return { name: header('Name'), version: header('Version') as VersionName | null, settingsModule }
}

const ENTRY_POINT = /^([^=]+?)\s*=\s*([\p{L}\p{N}_.]+)\s*(?::\s*[\p{L}\p{N}_.]+)?\s*(?:\[[^[\]]*\])?$/u
/** The maximum length of a line, because the pattern would be slow on longer lines with many spaces. */
const LONGEST_LINE = 1_000

/** Reads entry_points.txt like pkg_resources, which ignores the file if it cannot read one of its lines. */
function settingsModuleOf(entryPoints: string): string {
  const seen = new Map<string, string>()
  let group = ''
  // Python keeps a byte order mark, which trim() removes.
  if (entryPoints.startsWith('\ufeff')) refuse(' (Scrapyd cannot read the byte order mark of its entry_points.txt)')
  for (const line of entryPoints.split(/[\r\n]+/).map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) continue
    const header = /^\[(.*)\]$/.exec(line)?.[1]?.trim()
    const [, name, module = ''] = (line.length <= LONGEST_LINE && ENTRY_POINT.exec(line)) || []
    group = header ?? group
    const key = header ?? (name && `${group}\n${name}`)
    if (group === '' || key === undefined || seen.has(key)) {
      refuse(` (Scrapyd cannot read the line "${showUnseen(line.slice(0, 100))}" of its entry_points.txt)`)
    }
    seen.set(key, module)
  }
  const settingsModule = seen.get('scrapy\nsettings') ?? ''
  return isModuleName(settingsModule) ? settingsModule : refuse('')
}

function refuse(why: string): never {
  throw new ScrapdeckError('EGG_NO_SETTINGS', sentence('projects.no_settings_entry', { why }))
}

function headerOf(packageInfo: string, name: string): string | null {
  for (const line of packageInfo.split(/\r\n|\n|\r/)) {
    if (line === '') return null
    const [key, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]
    if (key.toLowerCase() === name.toLowerCase() && value !== '') return value
  }
  return null
}
