import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import yazl from 'yazl'

const MEGABYTE = 1_000_000

const SCRAPY_CFG = '[settings]\ndefault = big.settings\n[deploy]\nproject = big\n'

/** Writes a project zip of 12 MB that unpacks to 900 MB. This ratio is too low for an archive to count as a bomb. */
export async function writeInflatingProject(directory: string): Promise<string> {
  const path = join(directory, 'inflating.zip')
  const archive = beginProject()
  for (let index = 0; index < 900; index++) {
    const block = randomBytes(9_000)
    const content = Buffer.alloc(MEGABYTE)
    for (let at = 0; at < content.length; at += block.length) block.copy(content, at)
    archive.addBuffer(content, `big/data/${index}.bin`)
    // yazl compresses in the background. Without a pause, all contents would be in memory at once.
    if (index % 50 === 49) await new Promise((wake) => setTimeout(wake, 200))
  }
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  return path
}

export async function writeLargeProject(directory: string): Promise<string> {
  const path = join(directory, 'large.zip')
  const archive = beginProject()
  const content = Readable.from(randomPieces(190))
  archive.addReadStream(content, 'big/data/random.bin', { compress: false })
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  return path
}

export async function writeLargeEgg(directory: string): Promise<string> {
  const path = join(directory, 'large.egg')
  const archive = beginProject()
  archive.addBuffer(Buffer.from('Metadata-Version: 1.0\nName: big\nVersion: 1.0\n'), 'EGG-INFO/PKG-INFO')
  archive.addBuffer(Buffer.from('[scrapy]\nsettings = big.settings\n'), 'EGG-INFO/entry_points.txt')
  archive.addReadStream(Readable.from(randomPieces(190)), 'big/data/random.bin', { compress: false })
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  return path
}

export async function writeJunk(directory: string): Promise<string> {
  const path = join(directory, 'junk.egg')
  await pipeline(Readable.from(randomPieces(200)), createWriteStream(path))
  return path
}

export async function writeManyEntries(directory: string): Promise<string> {
  const path = join(directory, 'entries.zip')
  const archive = beginProject()
  for (let index = 0; index < 49_900; index++)
    archive.addBuffer(Buffer.alloc(0), `big/${'n'.repeat(150)}${index}.py`, { compress: false })
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  return path
}

export async function writeArchivedLog(path: string): Promise<void> {
  const line = '2026-11-22 10:00:00 [scrapy.core.engine] DEBUG: Crawled (200) <GET https://example.com/page/'
  function* lines() {
    for (let at = 0, text = ''; at < 250 * MEGABYTE; at += text.length) {
      text = Array.from({ length: 1_000 }, (_, index) => `${line}${at + index}>\n`).join('')
      yield Buffer.from(text)
    }
  }
  await pipeline(Readable.from(lines()), createGzip({ level: 1 }), createWriteStream(path))
}

export async function formAround(
  file: string,
  fields: Record<string, string>,
  name: string
): Promise<{ headers: Record<string, string>; open: () => AsyncIterable<Buffer> }> {
  const boundary = 'the-boundary-of-the-attack'
  const parts = Object.entries(fields).map(
    ([key, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${key}"\r\n\r\n${value}\r\n`
  )
  parts.push(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="big.egg"\r\n`)
  const head = Buffer.from(`${parts.join('')}Content-Type: application/octet-stream\r\n\r\n`)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const length = head.length + (await stat(file)).size + tail.length
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': String(length) },
    async *open() {
      yield head
      await using handle = await open(file)
      for await (const piece of handle.createReadStream({ autoClose: false })) yield piece as Buffer
      yield tail
    }
  }
}

function beginProject(): yazl.ZipFile {
  const archive = new yazl.ZipFile()
  archive.addBuffer(Buffer.from(SCRAPY_CFG), 'scrapy.cfg')
  archive.addBuffer(Buffer.alloc(0), 'big/__init__.py')
  archive.addBuffer(Buffer.from('BOT_NAME = "big"\n'), 'big/settings.py')
  return archive
}

function* randomPieces(megabytes: number): Generator<Buffer> {
  for (let index = 0; index < megabytes; index++) yield randomBytes(MEGABYTE)
}
