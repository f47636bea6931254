import { accessSync, constants, readdirSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { requireTrusted } from '../engine/runtime/file-trust.ts'
import { readSettingsFile } from '../engine/runtime/regular-file.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { type IniSections, parseIni, resolveIniValue } from '../shared/ini.ts'

export interface Configuration {
  /** In the order in which they are read, without missing files. */
  files: string[]
  /** Resolves `%` references in the value. null: no file sets it. Throws BAD_INPUT with the file and the line. */
  get(section: string, key: string): ConfiguredValue | null
  keys(section: string): string[]
  /** Sections of Scrapyd's own files. Excludes scrapy.cfg, which has unrelated sections. */
  sections: { name: string; file: string }[]
}

export interface ConfiguredValue {
  text: string
  /** Example: `/etc/scrapyd/scrapyd.conf, line 3` */
  from: string
  /** Set if the file was found in the working directory or above it. Such a file can set only some options. */
  discoveredIn?: string
}

export interface ConfigurationFile {
  path: string
  origin: 'named' | 'system' | 'user' | 'discovered'
}

interface Place {
  directory: string
  homeDirectory: string
}

/**
 * Returns the files that Scrapyd 1.6 reads, in the same order (scrapyd-protocol.md, 8). Skips a scrapy.cfg without a
 * [scrapyd] section, because Scrapyd reads a Scrapy project's `[settings] default = …` as a project named "default".
 */
export function listScrapydFiles(place: Place): ConfigurationFile[] {
  const closest = closestScrapyConfiguration(place.directory)
  return [
    ...systemFiles(),
    { path: join(place.directory, 'scrapyd.conf'), origin: 'discovered' },
    userFile(place),
    ...(closest === null ? [] : [{ path: closest, origin: 'discovered' } as const])
  ]
}

export function listInstalledFiles(place: Pick<Place, 'homeDirectory'>): ConfigurationFile[] {
  return [...systemFiles(), userFile(place)]
}

const systemFiles = () =>
  [
    '/etc/scrapyd/scrapyd.conf',
    ...(process.platform === 'win32' ? ['c:\\scrapyd\\scrapyd.conf'] : []),
    ...filesIn('/etc/scrapyd/conf.d')
  ].map((path): ConfigurationFile => ({ path, origin: 'system' }))

const userFile = (place: Pick<Place, 'homeDirectory'>): ConfigurationFile => ({
  path: join(place.homeDirectory, '.scrapyd.conf'),
  origin: 'user'
})

/**
 * Reads and merges the files. Skips missing files, except those named on the command line. Throws BAD_INPUT for
 * everything that ConfigParser would reject, and for a file that other users could have changed (file-trust.ts).
 * `skipUnreadable`: for programs run by users who cannot read the service's configuration. `anyOwnerIn`: a directory
 * whose files can belong to anyone, because the operator named it.
 */
export function readConfiguration(
  listed: readonly ConfigurationFile[],
  options: { skipUnreadable?: boolean; anyOwnerIn?: string } = {}
): Configuration {
  const all = new MergedFiles()
  // The [DEFAULT] section of a discovered file must not affect values in other files.
  const installed = new MergedFiles()
  const files: string[] = []
  const sections: Configuration['sections'] = []
  const problems: string[] = []
  for (const { path, origin } of listed) {
    if (options.skipUnreadable && origin !== 'named' && isUnreadable(path)) continue
    const text = readIfThere(path)
    if (text === null && origin === 'named') {
      throw new ScrapdeckError('BAD_INPUT', sentence('cli.no_configuration', { path }))
    }
    if (text === null) continue
    const parsed = parseIni(text)
    const isScrapyConfiguration = isNamedScrapyConfiguration(path)
    if (isScrapyConfiguration && !parsed.sections.has('scrapyd') && origin !== 'named') continue
    if (dirname(path) !== options.anyOwnerIn)
      requireTrusted(path, 'start elsewhere, or name your own file with --config.')
    files.push(path)
    for (const { line, text: what } of parsed.problems) problems.push(`${path}, line ${line}: ${what}`)
    if (!isScrapyConfiguration) sections.push(...[...parsed.sections.keys()].map((name) => ({ name, file: path })))
    all.add(path, parsed.sections, origin === 'discovered')
    if (origin !== 'discovered') installed.add(path, parsed.sections, false)
  }
  if (problems.length > 0) throw new ScrapdeckError('BAD_INPUT', problems.join('\n'))
  return {
    files,
    sections,
    keys: (section) => all.keys(section),
    get(section, key) {
      const value = all.get(section, key)
      return value === null || value.discoveredIn !== undefined ? value : installed.get(section, key)
    }
  }
}

class MergedFiles {
  readonly #sections: IniSections = new Map()
  readonly #origins = new Map<string, { from: string; discoveredIn?: string }>()

  add(path: string, sections: IniSections, isDiscovered: boolean): void {
    for (const [section, values] of sections) {
      const known = this.#sections.get(section) ?? new Map()
      this.#sections.set(section, known)
      for (const [key, value] of values) {
        known.set(key, value)
        const from = `${path}, line ${value.line}`
        this.#origins.set(`${section}\n${key}`, isDiscovered ? { from, discoveredIn: path } : { from })
      }
    }
  }

  keys(section: string): string[] {
    return [...(this.#sections.get(section)?.keys() ?? [])]
  }

  get(section: string, key: string): ConfiguredValue | null {
    const origin = this.#origins.get(`${section}\n${key}`) ?? this.#origins.get(`DEFAULT\n${key}`)
    if (origin === undefined) return null
    try {
      const text = resolveIniValue(this.#sections, section, key)
      return text === null ? null : { text, ...origin }
    } catch (error) {
      throw new ScrapdeckError(
        'BAD_INPUT',
        sentence('cli.option_unreadable', { from: origin.from, key, error: (error as Error).message })
      )
    }
  }
}

function isNamedScrapyConfiguration(path: string): boolean {
  return path === 'scrapy.cfg' || path.endsWith('/scrapy.cfg') || path.endsWith('\\scrapy.cfg')
}

function closestScrapyConfiguration(directory: string): string | null {
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, 'scrapy.cfg')
    if (readIfThere(path) !== null) return path
    if (dirname(folder) === folder) return null
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort()
      .map((name) => posix.join(folder, name))
  } catch {
    return []
  }
}

function isUnreadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return false
  } catch {
    return true
  }
}

/** Returns null for a missing file. Throws for one that cannot be read, although ConfigParser would skip it. */
function readIfThere(path: string): string | null {
  try {
    return readSettingsFile(path)
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.configuration_unreadable', { path, code }))
  }
}
