import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { ScrapdeckError } from '../shared/errors.ts'
import { type IniSections, parseIni, resolveIniValue } from '../shared/ini.ts'

/** The merged configuration files; later files take precedence. */
export interface Configuration {
  /** The files that exist, in reading order. */
  files: string[]
  /** The value with its `%` resolved; null if no file sets it. Throws BAD_INPUT, naming file and line. */
  get(section: string, key: string): ConfiguredValue | null
  keys(section: string): string[]
  /** Sections of files that are only for Scrapyd; a scrapy.cfg has other sections too. */
  sections: { name: string; file: string }[]
}

export interface ConfiguredValue {
  text: string
  /** `/etc/scrapyd/scrapyd.conf, line 3` */
  from: string
}

/**
 * The files that Scrapyd 1.6 reads, in its order (scrapyd-protocol.md, 8). A scrapy.cfg counts only with a [scrapyd]
 * section: otherwise Scrapyd takes a Scrapy project's `[settings] default = …` for a project named "default".
 */
export function listScrapydFiles(place: { directory: string; homeDirectory: string }): string[] {
  return [
    '/etc/scrapyd/scrapyd.conf',
    ...(process.platform === 'win32' ? ['c:\\scrapyd\\scrapyd.conf'] : []),
    ...filesIn('/etc/scrapyd/conf.d'),
    join(place.directory, 'scrapyd.conf'),
    join(place.homeDirectory, '.scrapyd.conf'),
    ...closestScrapyConfiguration(place.directory)
  ]
}

/** Reads these files and skips missing ones. Throws BAD_INPUT with everything that ConfigParser would reject. */
export function readConfiguration(paths: string[], options: { mustExist?: boolean } = {}): Configuration {
  const merged: IniSections = new Map()
  const origins = new Map<string, string>()
  const files: string[] = []
  const sections: Configuration['sections'] = []
  const problems: string[] = []
  for (const path of paths) {
    const text = readIfThere(path)
    if (text === null && options.mustExist) {
      throw new ScrapdeckError('BAD_INPUT', `There is no file ${path}. Correct --config.`)
    }
    if (text === null) continue
    const parsed = parseIni(text)
    const isScrapyConfiguration = isNamedScrapyConfiguration(path)
    if (isScrapyConfiguration && !parsed.sections.has('scrapyd') && !options.mustExist) continue
    files.push(path)
    for (const { line, text: what } of parsed.problems) problems.push(`${path}, line ${line}: ${what}`)
    for (const [section, values] of parsed.sections) {
      if (!isScrapyConfiguration) sections.push({ name: section, file: path })
      const known = merged.get(section) ?? new Map()
      merged.set(section, known)
      for (const [key, value] of values) {
        known.set(key, value)
        origins.set(`${section}\n${key}`, `${path}, line ${value.line}`)
      }
    }
  }
  if (problems.length > 0) throw new ScrapdeckError('BAD_INPUT', problems.join('\n'))
  return {
    files,
    sections,
    keys: (section) => [...(merged.get(section)?.keys() ?? [])],
    get(section, key) {
      const from = origins.get(`${section}\n${key}`) ?? origins.get(`DEFAULT\n${key}`)
      if (from === undefined) return null
      try {
        const text = resolveIniValue(merged, section, key)
        return text === null ? null : { text, from }
      } catch (error) {
        throw new ScrapdeckError('BAD_INPUT', `${from}: ${key} cannot be read: ${(error as Error).message}`)
      }
    }
  }
}

function isNamedScrapyConfiguration(path: string): boolean {
  return path === 'scrapy.cfg' || path.endsWith('/scrapy.cfg') || path.endsWith('\\scrapy.cfg')
}

function closestScrapyConfiguration(directory: string): string[] {
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, 'scrapy.cfg')
    if (readIfThere(path) !== null) return [path]
    if (dirname(folder) === folder) return []
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort()
      .map((name) => posix.join(folder, name))
  } catch {
    // Missing or unreadable: continue without it, like Scrapyd.
    return []
  }
}

/** ConfigParser skips files that it cannot open; only a --config file must exist (readConfiguration). */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null
    throw new ScrapdeckError(
      'BAD_INPUT',
      `${path} cannot be read (${code}). Correct its permissions, or specify another file with --config.`
    )
  }
}
