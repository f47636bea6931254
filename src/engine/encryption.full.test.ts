import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { idOfKey } from './runtime/encryption-keys.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'
import { makeTemporaryDirectory } from './testing/temporary-directory.ts'

/** The magic number of packed files, a file name in the egg, and texts in the log and the items. */
const NEEDLES = {
  packed: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
  egg: Buffer.from('shop/settings.py'),
  log: Buffer.from('parcel 7'),
  items: Buffer.from('42 pounds')
}

/** Files that may be unencrypted (docs/at-rest.md): eggs that Python imports, and the tree of eggs for a Scrapyd. */
const DOCUMENTED = /^local\/(egg-files|eggs)\//

async function filesWithPlainContent(directory: string): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(directory, { recursive: true })) {
    const path = join(directory, name)
    if (DOCUMENTED.test(name) || !(await stat(path)).isFile()) continue
    const bytes = await readFile(path)
    for (const [what, needle] of Object.entries(NEEDLES)) if (bytes.includes(needle)) found.push(`${what} in ${name}`)
  }
  return found.sort()
}

async function keyFile() {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const path = join(temporary.path, 'keys')
  const keys = [randomBytes(32), randomBytes(32)]
  const write = (...lines: string[]) => writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  const [first, second] = keys.map((key) => ({ line: key.toString('hex'), id: idOfKey(key) }))
  return { encryption: { keyFile: path, keyCommand: null }, write, first: first!, second: second! }
}

const SMALL = '2026-01-01 00:00:00 [shop] INFO: parcel 7\n'
const LARGE = SMALL.repeat(60_000)
const ITEMS = '{"price": "42 pounds"}\n'.repeat(5_000)

async function run({ client, node, until }: EngineWithFakeNode, log: string): Promise<string> {
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const { id } = jobs[0]!
  await until(async () => node.running.length === 1)
  const { jobid } = node.running[0]!

  node.items.set(jobid, Buffer.from(ITEMS))
  node.end(jobid)
  node.logs.set(jobid, log + node.logs.get(jobid)!)
  await until(async () => (await client.jobs.get({ id })).attempts[0]?.logArchived === true)
  node.logs.delete(jobid)
  node.items.delete(jobid)
  return id
}

async function expectReadable({ client }: EngineWithFakeNode, id: string, log: string): Promise<void> {
  const { text } = await client.logs.read({ jobId: id, offset: 0, limitBytes: 200 })
  expect(text.startsWith(log.slice(0, 42))).toBe(true)
  const found = []
  for await (const progress of await client.logs.search({ jobId: id, text: 'parcel 7' })) found.push(progress)
  expect(JSON.stringify(found)).toContain('parcel 7')
}

test('without keys, logs and eggs are stored unencrypted in the data directory', async () => {
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  await engine.prepare()
  await run(engine, SMALL)
  await engine.engine.stop()
  const found = (await filesWithPlainContent(engine.directory)).join(' ')
  expect(found).toContain('egg in blobs/eggs/')
  expect(found).toContain('packed in scrapdeck.sqlite')
})

test('with a key, no log, items file or egg of a run stays unencrypted on the disk, and all are readable', async () => {
  const { encryption, write, first } = await keyFile()
  await write(first.line)
  const engine = await openEngineWithFakeNode({ encryption })
  onTestFinished(() => engine.remove())
  await engine.prepare()
  await engine.client.projects.changeSettings({ project: 'shop', settings: { keepItems: true } })
  const [small, large] = [await run(engine, SMALL), await run(engine, LARGE)]
  for (const [id, log] of [
    [small, SMALL],
    [large, LARGE]
  ] as const)
    await expectReadable(engine, id, log)
  expect((await readdir(join(engine.directory, 'blobs', 'logs')))[0]).toMatch(/\.zst\.sealed$/)
  const page = await engine.client.items.page({ jobId: large } as never)
  expect(JSON.stringify(page)).toContain('42 pounds')
  await engine.engine.stop()
  expect(await filesWithPlainContent(engine.directory)).toEqual([])
})

test('plain data, and data encrypted with an earlier key, is encrypted with the new key in the background', async () => {
  const { encryption, write, first, second } = await keyFile()
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  await engine.prepare()
  const [small, large] = [await run(engine, SMALL), await run(engine, LARGE)]
  const keysOfFiles = async () => {
    const names = await readdir(join(engine.directory, 'blobs'), { recursive: true })
    const files = names.filter((name) => /[.]zst|[0-9a-f]{64}/.test(name))
    const headers = files.map((name) => readFile(join(engine.directory, 'blobs', name)).catch(() => null))
    const read = (await Promise.all(headers)).filter((bytes) => bytes !== null)
    return [...new Set(read.map((bytes) => bytes.subarray(8, 16).toString('hex')))]
  }
  await write(first.line)
  // Logs of runs that ended within the last hour are skipped.
  await engine.restart(7_200_000, { encryption })
  await engine.until(async () => String(await keysOfFiles()) === first.id)
  await expectReadable(engine, small, SMALL)
  await expectReadable(engine, large, LARGE)
  const third = await run(engine, LARGE.toLowerCase())
  await write(second.line, first.line)
  await engine.restart(7_200_000)
  await engine.until(async () => String(await keysOfFiles()) === second.id)
  // When the store has recorded that the first key is not used any more, the engine starts without it.
  await write(second.line)
  await engine.until(async () => {
    await engine.engine.stop()
    return engine.restart(0).then(
      () => true,
      () =>
        write(second.line, first.line)
          .then(() => engine.restart(0))
          .then(() => write(second.line))
          .then(() => false)
    )
  })
  await expectReadable(engine, small, SMALL)
  await expectReadable(engine, large, LARGE)
  await expectReadable(engine, third, LARGE.toLowerCase())
  // Before this, SQLite retains unused data in its file.
  await engine.client.storage.compact({})
  await engine.engine.stop()
  expect(await filesWithPlainContent(engine.directory)).toEqual([])
})

test('the engine does not start without a key that was used, and names it, unless the key is declared lost', async () => {
  const { encryption, write, first, second } = await keyFile()
  await write(first.line)
  const engine = await openEngineWithFakeNode({ encryption })
  onTestFinished(() => engine.remove())
  await engine.prepare()
  const id = await run(engine, SMALL)
  const missing = { code: 'ENCRYPTION_KEY_MISSING', message: expect.stringContaining(first.id) }
  await expect(engine.restart(0, {})).rejects.toMatchObject(missing)
  await write(second.line)
  await expect(engine.restart(0, { encryption })).rejects.toMatchObject(missing)
  await write(second.line, `lost ${first.id}`)
  await engine.restart(0, { encryption })
  const read = engine.client.logs.read({ jobId: id, offset: 0, limitBytes: 200 })
  await expect(read).rejects.toMatchObject({ code: 'ENCRYPTION_KEY_MISSING' })
})

test('the storage usage shows the progress of encryption, and what could not be encrypted', async () => {
  const { encryption, write, first, second } = await keyFile()
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  await engine.prepare()
  expect((await engine.client.storage.usage()).encryption).toBe(null)
  await write(first.line)
  await engine.restart(0, { encryption })
  await run(engine, LARGE)
  const folder = join(engine.directory, 'blobs', 'logs')
  const path = join(folder, (await readdir(folder))[0]!)
  const whole = await readFile(path)
  const damaged = Buffer.from(whole)
  damaged[100]! ^= 1
  await writeFile(path, damaged)
  await write(second.line, first.line)
  await engine.restart(7_200_000)
  const state = async () => (await engine.client.storage.usage()).encryption
  await engine.until(async () => (await state())?.state === 'waiting')
  expect(await state()).toMatchObject({ keyId: second.id, sealedAtMs: null, problem: { files: 1 } })
  const { sealed, total } = (await state())!
  expect(total - sealed).toBe(1)
  expect(await engine.engine.metrics()).toContain('scrapdeck_files_to_seal 1\n')
  const titles = async () => (await engine.client.system.status()).problems.map(({ id }) => id)
  await engine.until(async () => (await titles()).includes('storage:encryption'))
  await writeFile(path, whole)
  await engine.restart(0)
  await engine.until(async () => (await state())?.state === 'sealed')
  expect(await state()).toMatchObject({ sealed: total, total, problem: null, sealedAtMs: expect.any(Number) })
  expect(await engine.engine.metrics()).toContain('scrapdeck_files_to_seal 0\n')
})
