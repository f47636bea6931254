import type { VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { readIniValue } from '../../shared/ini.ts'
import { isModuleName } from './names.ts'
import { EGG_LIMITS, openZipArchive, type ZipArchive, type ZipLimits } from './zip-archive.ts'

/** Metadata of an egg, read without running any of its code. */
export interface EggFacts {
  /** From PKG-INFO; null if it has none (Scrapyd accepts an empty PKG-INFO). */
  name: string | null
  version: VersionName | null
  /** The module that `[scrapy] settings` in entry_points.txt names. */
  settingsModule: string
}

const METADATA_LIMIT_BYTES = 1024 * 1024

/**
 * Checks that a file is an egg that Scrapyd can run (scrapyd-protocol.md, 4.3) and that is safe to pass on. Throws
 * EGG_NOT_A_ZIP, EGG_TOO_LARGE, EGG_UNSAFE, EGG_NO_METADATA, EGG_NO_SETTINGS.
 */
export async function inspectEgg(bytes: Uint8Array, limits: ZipLimits = EGG_LIMITS): Promise<EggFacts> {
  return inspectArchive(await openZipArchive(bytes, limits))
}

/** Like inspectEgg, for an archive that is already open. */
export async function inspectArchive(archive: ZipArchive): Promise<EggFacts> {
  const packageInfo = await archive.read('EGG-INFO/PKG-INFO', METADATA_LIMIT_BYTES)
  if (packageInfo === null) {
    throw new ScrapdeckError(
      'EGG_NO_METADATA',
      'The archive has no EGG-INFO/PKG-INFO, so it is not an egg, and no scrapy.cfg, so it is not a Scrapy project ' +
        'either. Build an egg with scrapyd-deploy --build-egg, or zip the folder that holds scrapy.cfg.'
    )
  }
  const entryPoints = (await archive.read('EGG-INFO/entry_points.txt', METADATA_LIMIT_BYTES))?.toString('utf8') ?? ''
  const settingsModule = (readIniValue(entryPoints, 'scrapy', 'settings') ?? '').split(':')[0]!.trim()
  if (!isModuleName(settingsModule)) {
    throw new ScrapdeckError(
      'EGG_NO_SETTINGS',
      'The egg has no entry point "settings" in the group "scrapy", so Scrapy would find no project in it. Add ' +
        "entry_points={'scrapy': ['settings = PROJECT.settings']} to its setup.py and build it again."
    )
  }
  const header = (name: string) => headerOf(packageInfo.toString('utf8'), name)
  return { name: header('Name'), version: header('Version') as VersionName | null, settingsModule }
}

/** PKG-INFO is a mail header: it ends at the first empty line, which is followed by free text. */
function headerOf(packageInfo: string, name: string): string | null {
  for (const line of packageInfo.split(/\r\n|\n|\r/)) {
    if (line === '') return null
    const [key, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]
    if (key.toLowerCase() === name.toLowerCase() && value !== '') return value
  }
  return null
}
