import { buffer } from 'node:stream/consumers'
import yauzl from 'yauzl'
import yazl from 'yazl'

export interface ArchiveEntry {
  name: string
  content?: string | Uint8Array
  /** Unix file type and permissions. Default: a regular file. */
  mode?: number
}

export async function readArchive(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await yauzl.fromBufferPromise(bytes)
  const files = new Map<string, Buffer>()
  for await (const entry of zip.eachEntry())
    files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)))
  return files
}

/** A zip archive with arbitrary names. Names that no archiver would write are patched in afterwards. */
export async function anArchive(entries: ArchiveEntry[]): Promise<Uint8Array> {
  const archive = new yazl.ZipFile()
  const standIns = entries.map((entry, index) => standInFor(entry.name, index))
  for (const [index, entry] of entries.entries()) {
    const mode = entry.mode ?? 0o100644
    archive.addBuffer(Buffer.from(entry.content ?? ''), standIns[index]!, { mode, forceDosTimestamp: true })
  }
  archive.end()
  const chunks: Buffer[] = []
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  for (const [index, entry] of entries.entries()) replaceAll(bytes, standIns[index]!, entry.name)
  return bytes
}

export async function asWheel(egg: Uint8Array, over: { entryPoints?: string } = {}): Promise<Uint8Array> {
  const files = await readArchive(Buffer.from(egg))
  const metadata = files.get('EGG-INFO/PKG-INFO')!.toString()
  const [name, version] = ['Name', 'Version'].map((key) => new RegExp(`^${key}: (.+)$`, 'm').exec(metadata)![1])
  const folder = `${name}-${version}.dist-info`
  return anArchive([
    ...[...files].filter(([path]) => !path.startsWith('EGG-INFO/')).map(([path, content]) => ({ name: path, content })),
    { name: `${folder}/METADATA`, content: metadata },
    { name: `${folder}/entry_points.txt`, content: over.entryPoints ?? files.get('EGG-INFO/entry_points.txt')! },
    { name: `${folder}/WHEEL`, content: 'Wheel-Version: 1.0\n' }
  ])
}

export function anEgg(
  entries: ArchiveEntry[] = [],
  over: { name?: string; settings?: string } = {}
): Promise<Uint8Array> {
  return anArchive([
    { name: 'EGG-INFO/PKG-INFO', content: `Metadata-Version: 1.0\nName: ${over.name ?? 'shop'}\nVersion: 2.0\n` },
    { name: 'EGG-INFO/entry_points.txt', content: `[scrapy]\nsettings = ${over.settings ?? 'shop.settings'}\n` },
    { name: 'shop/settings.py', content: "SPIDER_MODULES = ['shop.spiders']\n" },
    ...entries
  ])
}

/** Returns a placeholder that has the same length in bytes and occurs nowhere else in the archive. */
function standInFor(name: string, index: number): string {
  if (/^[\w./ -]+$/.test(name) && !name.includes('..') && !name.startsWith('/')) return name
  return `q${index}`.padEnd(Buffer.byteLength(name), 'q').slice(0, Buffer.byteLength(name))
}

function replaceAll(bytes: Buffer, from: string, to: string): void {
  if (from === to) return
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at)
}
