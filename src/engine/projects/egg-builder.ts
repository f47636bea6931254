import { createReadStream, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { crc32, createDeflateRaw } from 'node:zlib'
import { Zip, type ZipInputFile } from 'fflate'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { readIniValue } from '../../shared/ini.ts'
import { isModuleName, problemOfEntryName, problemOfPathPart } from './names.ts'
import { EGG_LIMITS, type ZipArchive } from './zip-archive.ts'

/** `path` is relative to the folder of scrapy.cfg and uses slashes. */
export interface ProjectFile {
  path: string
  bytes: Uint8Array
}

/** A file is opened only when it is packed, so a project of any size needs little memory. */
interface FileToPack {
  path: string
  open(): Readable | Promise<Readable>
}

const CONFIGURATION_MAX_BYTES = 1024 * 1024
/** The maximum number of files. Packing takes one to two milliseconds per file, however small the file is. */
const MAX_FILES = 10_000

export interface EggNaming {
  /** Default: `[deploy] project` of scrapy.cfg, else the first part of the settings module. */
  project?: ProjectName
  version?: VersionName
}

/**
 * Builds an egg from a project's files (scrapyd-protocol.md, 4.3) without setuptools. Deterministic. Throws
 * EGG_NO_SETTINGS if scrapy.cfg names no existing settings module, and BAD_INPUT for an invalid name.
 */
export async function buildEgg(files: ProjectFile[], naming: EggNaming = {}): Promise<Uint8Array> {
  return buffer(await packEgg(files.map(inMemory), naming))
}

/** Builds an egg from a folder with scrapy.cfg and ignores links. Throws EGG_TOO_LARGE, or like buildEgg. */
export async function buildEggFromFolder(directory: string, naming: EggNaming = {}): Promise<Uint8Array> {
  const files: FileToPack[] = []
  let totalBytes = 0
  const walk = async (folder: string, prefix: string): Promise<void> => {
    const children = await readdir(folder, { withFileTypes: true })
    if (prefix !== '' && children.some((child) => child.name === 'pyvenv.cfg')) return
    for (const child of children.sort(byName)) {
      const path = prefix + child.name
      if (isLeftOut(path) && path !== 'scrapy.cfg') continue
      const place = join(folder, child.name)
      if (child.isDirectory()) await walk(place, `${path}/`)
      if (!child.isFile()) continue
      totalBytes += (await stat(place)).size
      if (totalBytes > EGG_LIMITS.archiveBytes) {
        throw new ScrapdeckError(
          'EGG_TOO_LARGE',
          sentence('projects.folder_too_large', { directory: basename(directory), path })
        )
      }
      files.push({ path, open: () => createReadStream(place) })
    }
  }
  await walk(directory, '')
  return buffer(await packEgg(files, naming))
}

/**
 * Builds an egg from a zip of a project's folder while the stream is read. Returns null if scrapy.cfg is neither at the
 * top nor in a top-level folder. Throws like buildEgg; the stream fails with EGG_NOT_A_ZIP.
 */
export async function buildEggFromArchive(archive: ZipArchive, naming: EggNaming = {}): Promise<Readable | null> {
  const configuration = archive.names
    .filter((name) => /^([^/]+\/)?scrapy\.cfg$/.test(name) && !name.startsWith('__MACOSX/'))
    .sort((one, other) => one.length - other.length)[0]
  if (configuration === undefined) return null
  const top = configuration.slice(0, -'scrapy.cfg'.length)
  const inTop = archive.names.filter((name) => name.startsWith(top)).map((name) => name.slice(top.length))
  const environments = inTop.filter((path) => path.endsWith('/pyvenv.cfg')).map((path) => path.slice(0, -10))
  const isWanted = (path: string) =>
    path === 'scrapy.cfg' || !(isLeftOut(path) || environments.some((folder) => path.startsWith(folder)))
  const files = inTop.filter(isWanted).map((path) => ({ path, open: () => archive.openRead(top + path) }))
  return packEgg(files, naming)
}

async function packEgg(files: FileToPack[], naming: EggNaming): Promise<Readable> {
  const configuration = files.find((file) => file.path === 'scrapy.cfg')
  if (!configuration) throw new ScrapdeckError('EGG_NO_SETTINGS', sentence('projects.no_scrapy_cfg'))
  const configured = await readConfiguration(configuration)
  const settingsModule = settingsModuleOf(configured, files)
  const project = naming.project ?? (readIniValue(configured, 'deploy', 'project') || settingsModule.split('.')[0]!)
  const problem = problemOfPathPart(project)
  if (problem) throw new ScrapdeckError('BAD_INPUT', sentence('projects.project_name_invalid', { project, problem }))

  const packed = files.filter((file) => !isLeftOut(file.path))
  if (packed.length > MAX_FILES) {
    throw new ScrapdeckError(
      'EGG_TOO_LARGE',
      sentence('projects.too_many_files', { packed: packed.length, maxFiles: MAX_FILES })
    )
  }
  const topLevel = new Set(packed.filter((file) => file.path.endsWith('.py')).map((file) => topModuleOf(file.path)))
  const metadata: [string, string][] = [
    ['EGG-INFO/PKG-INFO', `Metadata-Version: 1.0\nName: ${project}\nVersion: ${naming.version ?? '1.0'}\n`],
    ['EGG-INFO/entry_points.txt', `[scrapy]\nsettings = ${settingsModule}\n`],
    ['EGG-INFO/top_level.txt', [...topLevel].sort().join('\n') + '\n'],
    ['EGG-INFO/zip-safe', '\n']
  ]
  return zip([...packed, ...metadata.map(([path, content]) => inMemory({ path, bytes: Buffer.from(content) }))])
}

function inMemory({ path, bytes }: ProjectFile): FileToPack {
  return { path, open: () => Readable.from([bytes]) }
}

async function readConfiguration(file: FileToPack): Promise<string> {
  let readBytes = 0
  const content = (await file.open()).map((piece: Buffer) => {
    readBytes += piece.length
    if (readBytes <= CONFIGURATION_MAX_BYTES) return piece
    throw new ScrapdeckError(
      'EGG_TOO_LARGE',
      sentence('projects.scrapy_cfg_too_large', { configurationMaxBytes: CONFIGURATION_MAX_BYTES })
    )
  })
  return text(content)
}

function settingsModuleOf(configuration: string, files: { path: string }[]): string {
  const settingsModule = readIniValue(configuration, 'settings', 'default') ?? ''
  if (!isModuleName(settingsModule)) {
    throw new ScrapdeckError('EGG_NO_SETTINGS', sentence('projects.scrapy_cfg_without_settings'))
  }
  const path = settingsModule.replaceAll('.', '/')
  if (!files.some((file) => file.path === `${path}.py` || file.path === `${path}/__init__.py`)) {
    throw new ScrapdeckError('EGG_NO_SETTINGS', sentence('projects.settings_module_missing', { settingsModule, path }))
  }
  return settingsModule
}

/** Excludes build output, and files that can contain secrets: hidden ones (.env, .netrc) and scrapy.cfg. */
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

/**
 * Packs the files in sorted order and with a fixed time. The same files therefore give the same egg, which needs no
 * second upload.
 */
function zip(files: FileToPack[]): Readable {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1))
  for (const { path } of sorted) {
    const problem = problemOfEntryName(path)
    if (problem) throw new ScrapdeckError('EGG_UNSAFE', sentence('projects.file_unsafe', { path, problem }))
  }
  return Readable.from(zipPieces(sorted), { objectMode: false })
}

async function* zipPieces(files: FileToPack[]): AsyncGenerator<Uint8Array> {
  const ready: Uint8Array[] = []
  const archive = new Zip((error, piece) => {
    if (error) throw error
    ready.push(piece)
  })
  for (const { path, open } of files) {
    const entry: ZipInputFile = { filename: path, size: 0, crc: 0, compression: DEFLATE, ...ATTRIBUTES }
    archive.add(entry)
    for await (const packed of pack(await open(), entry)) {
      entry.ondata!(null, packed, false)
      yield* ready.splice(0)
    }
    entry.ondata!(null, new Uint8Array(0), true)
    yield* ready.splice(0)
  }
  archive.end()
  yield* ready
}

/** Uses zlib, which deflates five times as fast as fflate. Records the size and checksum of the content in `entry`. */
function pack(content: Readable, entry: ZipInputFile): AsyncIterable<Buffer<ArrayBuffer>> {
  async function* recorded(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      entry.size += piece.length
      entry.crc = crc32(piece, entry.crc)
      yield piece
    }
  }
  return pipeline(content, recorded, createDeflateRaw(), () => {})
}

const DEFLATE = 8
const ATTRIBUTES = { mtime: new Date(2020, 0, 1), os: 3, attrs: 0o100644 << 16 }

function byName(one: Dirent, other: Dirent): number {
  return one.name < other.name ? -1 : 1
}
