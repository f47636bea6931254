import type { Dirent } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import yazl from 'yazl'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { isModuleName } from './egg-inspection.ts'
import { readIniValue } from '../../shared/ini.ts'
import { problemOfEntryName, problemOfPathPart } from './names.ts'
import { EGG_LIMITS, type ZipArchive } from './zip-archive.ts'

/** A file of a Scrapy project; its path is relative to the folder of scrapy.cfg, with slashes. */
export interface ProjectFile {
  path: string
  bytes: Uint8Array
}

export interface EggNaming {
  /** Default: `[deploy] project` of scrapy.cfg, else the first part of the settings module. */
  project?: ProjectName
  /** Only for PKG-INFO; Scrapyd's name for the version is set at upload. */
  version?: VersionName
}

/**
 * Builds an egg from a project's files, which must include scrapy.cfg, with all that Scrapyd and its runner need
 * (scrapyd-protocol.md, 4.3) but without setuptools. Deterministic. Throws EGG_NO_SETTINGS if scrapy.cfg names no
 * existing settings module, BAD_INPUT for an invalid name.
 */
export async function buildEgg(files: ProjectFile[], naming: EggNaming = {}): Promise<Uint8Array> {
  const configuration = files.find((file) => file.path === 'scrapy.cfg')
  if (!configuration) throw new ScrapdeckError('EGG_NO_SETTINGS', 'The project folder has no scrapy.cfg.')
  const text = Buffer.from(configuration.bytes).toString('utf8')
  const settingsModule = settingsModuleOf(text, files)
  const project = naming.project ?? (readIniValue(text, 'deploy', 'project') || settingsModule.split('.')[0]!)
  const problem = problemOfPathPart(project)
  if (problem) throw new ScrapdeckError('BAD_INPUT', `The project name ${JSON.stringify(project)} ${problem}.`)

  const packed = files.filter((file) => !isLeftOut(file.path))
  const topLevel = new Set(packed.filter((file) => file.path.endsWith('.py')).map((file) => topModuleOf(file.path)))
  const metadata: [string, string][] = [
    ['EGG-INFO/PKG-INFO', `Metadata-Version: 1.0\nName: ${project}\nVersion: ${naming.version ?? '1.0'}\n`],
    ['EGG-INFO/entry_points.txt', `[scrapy]\nsettings = ${settingsModule}\n`],
    ['EGG-INFO/top_level.txt', [...topLevel].sort().join('\n') + '\n'],
    ['EGG-INFO/zip-safe', '\n']
  ]
  return zip([...packed, ...metadata.map(([path, content]) => ({ path, bytes: Buffer.from(content) }))])
}

/** Builds an egg from a folder with scrapy.cfg, ignoring links. Throws as buildEgg does, and EGG_TOO_LARGE. */
export async function buildEggFromFolder(directory: string, naming: EggNaming = {}): Promise<Uint8Array> {
  const files: ProjectFile[] = []
  let totalBytes = 0
  const walk = async (folder: string, prefix: string): Promise<void> => {
    const children = await readdir(folder, { withFileTypes: true })
    if (prefix !== '' && children.some((child) => child.name === 'pyvenv.cfg')) return
    for (const child of children.sort(byName)) {
      const path = prefix + child.name
      if (isLeftOut(path) && path !== 'scrapy.cfg') continue
      if (child.isDirectory()) await walk(join(folder, child.name), `${path}/`)
      if (!child.isFile()) continue
      totalBytes += (await stat(join(folder, child.name))).size
      if (totalBytes > EGG_LIMITS.archiveBytes) {
        throw new ScrapdeckError('EGG_TOO_LARGE', `The folder ${basename(directory)} is too large for an egg: ${path}.`)
      }
      files.push({ path, bytes: await readFile(join(folder, child.name)) })
    }
  }
  await walk(directory, '')
  return buildEgg(files, naming)
}

/**
 * Builds an egg from a zip of a project's folder, with scrapy.cfg at the top or inside one top-level folder; null if it
 * is in neither. Throws as buildEgg does, and EGG_TOO_LARGE.
 */
export async function buildEggFromArchive(archive: ZipArchive, naming: EggNaming = {}): Promise<Uint8Array | null> {
  const configuration = archive.names
    .filter((name) => /^([^/]+\/)?scrapy\.cfg$/.test(name) && !name.startsWith('__MACOSX/'))
    .sort((one, other) => one.length - other.length)[0]
  if (configuration === undefined) return null
  const top = configuration.slice(0, -'scrapy.cfg'.length)
  const inTop = archive.names.filter((name) => name.startsWith(top)).map((name) => name.slice(top.length))
  const environments = inTop.filter((path) => path.endsWith('/pyvenv.cfg')).map((path) => path.slice(0, -10))
  const files: ProjectFile[] = []
  for (const path of inTop) {
    if (path !== 'scrapy.cfg' && (isLeftOut(path) || environments.some((folder) => path.startsWith(folder)))) continue
    const content = await archive.read(top + path, EGG_LIMITS.archiveBytes)
    if (content !== null) files.push({ path, bytes: content })
  }
  return buildEgg(files, naming)
}

function settingsModuleOf(configuration: string, files: ProjectFile[]): string {
  const settingsModule = readIniValue(configuration, 'settings', 'default') ?? ''
  if (!isModuleName(settingsModule)) {
    throw new ScrapdeckError('EGG_NO_SETTINGS', 'scrapy.cfg has no line "default = PROJECT.settings" in [settings].')
  }
  const path = settingsModule.replaceAll('.', '/')
  if (!files.some((file) => file.path === `${path}.py` || file.path === `${path}/__init__.py`)) {
    throw new ScrapdeckError(
      'EGG_NO_SETTINGS',
      `scrapy.cfg names the settings module ${settingsModule}, but there is no ${path}.py beside it.`
    )
  }
  return settingsModule
}

/**
 * Never in an egg: caches, environments, build output, and everything hidden, which may contain secrets (.env, .netrc).
 * scrapy.cfg may contain node passwords.
 */
function isLeftOut(path: string): boolean {
  const parts = path.split('/')
  if (['scrapy.cfg', 'setup.py', 'build', 'dist', 'EGG-INFO'].includes(parts[0]!)) return true
  return parts.some(
    (part) =>
      part.startsWith('.') ||
      ['__pycache__', '__MACOSX', 'node_modules', 'venv'].includes(part) ||
      /\.(pyc|pyo|egg|egg-info)$/.test(part)
  )
}

function topModuleOf(path: string): string {
  return path.split('/')[0]!.replace(/\.py$/, '')
}

/** Sorted, with a fixed time and no zone, so that the same files give the same egg and need no second upload. */
async function zip(files: ProjectFile[]): Promise<Uint8Array> {
  const archive = new yazl.ZipFile()
  const options = { mtime: new Date(2020, 0, 1), mode: 0o100644, forceDosTimestamp: true }
  for (const file of [...files].sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const problem = problemOfEntryName(file.path)
    if (problem) throw new ScrapdeckError('EGG_UNSAFE', `The file ${JSON.stringify(file.path)} ${problem}.`)
    archive.addBuffer(Buffer.from(file.bytes), file.path, options)
  }
  archive.end()
  const chunks: Buffer[] = []
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function byName(one: Dirent, other: Dirent): number {
  return one.name < other.name ? -1 : 1
}
