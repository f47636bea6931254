import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { IncomingFiles } from './incoming-files.ts'

async function open(maxTotalBytes?: number) {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const directory = join(temporary.path, 'incoming')
  return { directory, incoming: IncomingFiles.open(directory, maxTotalBytes) }
}

const some = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)))

test('received content is a file for its owner only, until every holder has released it', async () => {
  const { directory, incoming } = await open()
  {
    await using file = await incoming.receive(some('first, ', 'second'))
    expect([await readFile(file.path, 'utf8'), file.sizeBytes]).toEqual(['first, second', 13])
    expect([(await stat(directory)).mode & 0o077, (await stat(file.path)).mode & 0o077]).toEqual([0, 0])
    {
      await using _ = file.hold()
    }
    expect(await readdir(directory)).toHaveLength(1)
  }
  expect(await readdir(directory)).toEqual([])
})

test('content that breaks off leaves nothing', async () => {
  const { directory, incoming } = await open()
  async function* broken() {
    yield Buffer.from('half')
    throw new Error('the client has gone')
  }
  await expect(incoming.receive(broken())).rejects.toThrow('the client has gone')
  expect(await readdir(directory)).toEqual([])
})

test('leftovers of a crash are removed at the start', async () => {
  const { directory } = await open()
  await writeFile(join(directory, 'left'), 'half')
  IncomingFiles.open(directory)
  expect(await readdir(directory)).toEqual([])
})

test('all files together have a limit, and removed ones no longer count', async () => {
  const { directory, incoming } = await open(10)
  const first = await incoming.receive(some('12345678'))
  await expect(incoming.receive(some('1', '23'))).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  expect(await readdir(directory)).toHaveLength(1)
  await first[Symbol.asyncDispose]()
  await using _ = await incoming.receive(some('1234567890'))
})

test('received content is read from disk as a file of the contract, and recognized; a file of another transport is written to disk', async () => {
  const { directory, incoming } = await open()
  await using received = await incoming.receive(some('egg'))
  const file = await incoming.toFile(received, 'shop.egg', 'application/zip')
  expect([file.name, file.type, file.size, await file.text()]).toEqual(['shop.egg', 'application/zip', 3, 'egg'])
  await using again = await incoming.fromFile(file)
  expect(again).toBe(received)
  await using other = await incoming.fromFile(new File(['other'], 'other.egg'))
  expect(await readFile(other.path, 'utf8')).toBe('other')
  expect(await readdir(directory)).toHaveLength(2)
})
