import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aNodeId } from '../shared/testing/ids.ts'
import { silentLogger } from '../engine/runtime/logger.ts'
import { makeGerapyDatabase } from '../engine/storage/testing/timer-databases.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { listen } from '../server/listen.ts'
import { exitCodeOf } from './client/exit-codes.ts'
import { addClientCommands } from './client-commands.ts'
import type { Terminal } from './client/terminal.ts'

let directory: string
let engine: EngineWithFakeNode
let service: Awaited<ReturnType<typeof listen>>

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-cli-'))
  engine = await openEngineWithFakeNode()
  service = await listen({
    engine: engine.engine,
    dataDirectory: directory,
    uiDirectory: directory,
    docsDirectory: directory,
    bindAddress: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    logger: silentLogger
  })
})

afterEach(async () => {
  await service.stop()
  await engine.remove()
  rmSync(directory, { recursive: true, force: true })
})

async function call(words: string[], environment: Record<string, string> = {}) {
  let [out, error] = ['', '']
  const { username, password } = engine.engine.credentials
  const program = new Command('scrapdeck').enablePositionalOptions().exitOverride()
  const terminal: Terminal = {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
    isTerminal: false,
    environment: {
      SCRAPDECK_URL: service.address,
      SCRAPDECK_USERNAME: username,
      SCRAPDECK_PASSWORD: password,
      ...environment
    },
    directory,
    homeDirectory: directory,
    interrupted: new AbortController().signal,
    nowMs: () => 0,
    sleep: async () => {},
    openBrowser: null,
    ask: async () => null,
    localService: () => ({ port: 1, dataDirectory: '/nowhere' })
  }
  await addClientCommands(program, terminal, words[0])
  const code = await program.parseAsync(words, { from: 'user' }).then(
    () => 0,
    (caught: unknown) => {
      error += (caught as Error).message
      return exitCodeOf(caught)
    }
  )
  return { code, out, error }
}

const file = (name: string, text: string) => writeFileSync(join(directory, name), text)

test('a fleet file is shown as a diff, applied with --yes, and then matches the fleet', async () => {
  file(
    'fleet.yaml',
    `version: 1
nodes:
  - { name: berlin, url: 'http://10.0.0.5:6800', username: me, password: '\${NODE_PASSWORD}', tags: [eu] }
schedules:
  - { name: night, zone: Europe/Berlin, rules: [{ cron: '0 3 * * *' }], jobs: [{ project: shop, spiders: [prices], node: berlin }] }
`
  )
  const forgotten = await call(['apply', 'fleet.yaml'])
  expect([forgotten.code, forgotten.error]).toEqual([
    2,
    'The file uses the environment variable NODE_PASSWORD, which is not set.'
  ])
  const environment = { NODE_PASSWORD: 'hush: "#' }
  const planned = await call(['apply', 'fleet.yaml', '--check'], environment)
  expect(planned.code).toBe(1)
  expect(planned.out).toContain('+ node berlin\n    url: http://10.0.0.5:6800/\n')
  expect(planned.out).toContain('+ schedule night\n')
  expect(planned.out).toContain('2 changes to make. No changes made. Add --yes to apply.')
  expect(planned.out).not.toContain('hush')
  expect((await engine.client.nodes.list()).nodes).toEqual([])
  const done = await call(['apply', 'fleet.yaml', '--yes', '--json'], environment)
  expect(JSON.parse(done.out)).toMatchObject({ applied: true, changes: [{ noun: 'node' }, { noun: 'schedule' }] })
  expect(await call(['apply', 'fleet.yaml', '--check'], environment)).toMatchObject({
    code: 0,
    out: 'No changes: everything matches the file.\n'
  })
  expect((await call(['export', '-o', 'now.yaml'])).error).toBe('Written to now.yaml.\n')
  expect(readFileSync(join(directory, 'now.yaml'), 'utf8')).not.toContain('hush')
  expect((await call(['apply', 'now.yaml', '--prune', '--check'])).code).toBe(0)
  file('other.yaml', 'version: 1\nschedules: []\n')
  expect((await call(['apply', 'other.yaml', '--prune', '--yes'])).out).toBe('- schedule night\n1 change made.\n')
})

test('an error in a file is reported with its line and exits with 2', async () => {
  file('fleet.yaml', "version: 1\nnodes:\n  - { name: a, url: '${A}', slotz: 3 }\n")
  const { code, error } = await call(['apply', 'fleet.yaml'], { A: 'two\nlines' })
  expect(code).toBe(2)
  expect(error).toContain('line 3: nodes[0] has no field "slotz"')
  expect((await call(['apply', 'nowhere.yaml'])).error).toContain('nowhere.yaml cannot be read: there is no such file.')
})

test('schedules of other programs are reported, planned, written to a file, or created', async () => {
  const task = { project: 'shop', spider: 'prices', trigger: 'cron', clients: '[1]' }
  makeGerapyDatabase(
    join(directory, 'db.sqlite3'),
    [{ name: 'one', ip: '10.0.0.5', port: 6800 }],
    [
      { ...task, name: 'night', configuration: '{"hour":"3"}' },
      { ...task, name: 'weeks', configuration: '{"week":"3"}' }
    ]
  )
  const words = ['import-schedules', 'gerapy', '.', '--zone', 'Asia/Tokyo']
  const pinned = await call(words)
  expect(pinned.code).toBe(2)
  expect(pinned.error).toContain('--any-node')
  expect(pinned.out).toContain('+ schedule night\n    zone: Asia/Tokyo\n')
  expect(pinned.out).toContain('No changes made.')
  const inJson = await call([...words, '--json'])
  expect([inJson.code, JSON.parse(inJson.out)]).toMatchObject([2, { changes: [{ name: 'night' }], applied: false }])
  const wanted = await call([...words, '--yes'])
  expect([wanted.code, wanted.out.includes('+ schedule night')]).toEqual([2, false])
  const planned = await call([...words, '--any-node'])
  expect(planned.out).toContain('task 1 (night): "night"\n    it names no time zone: Asia/Tokyo')
  expect(planned.out).toContain('task 2 (weeks): NOT IMPORTED')
  expect(planned.out).toContain('1 of 2 can be imported.')
  expect(planned.out).toContain('+ schedule night\n    zone: Asia/Tokyo\n')
  expect((await engine.client.schedules.list({})).schedules).toEqual([])
  expect((await call([...words, '--any-node', '-o', 'taken.yaml'])).code).toBe(0)
  expect((await call(['apply', 'taken.yaml', '--yes'])).out).toContain('1 change made.')
  const again = await call([...words, '--any-node', '--yes'])
  expect(again.out).toContain('No changes: everything matches the file.')
  expect((await engine.client.schedules.list({})).schedules).toMatchObject([{ name: 'night', zone: 'Asia/Tokyo' }])
  expect((await call(['import-schedules', 'airflow', '.'])).error).toContain('only from scrapydweb, gerapy, crontab')
  expect((await call(['import-schedules', 'gerapy'])).error).toContain('Specify the database of gerapy')
})

test('an import without any importable schedule fails, with the reason for each', async () => {
  file('crontab', '0 3 * * * /usr/bin/backup\n')
  const refused = await call(['import-schedules', 'crontab', 'crontab', '--yes'])
  expect(refused.code).toBe(1)
  expect(refused.out).toContain('NOT IMPORTED')
  expect(refused.error).toContain('Nothing can be imported')
  file('empty', '# nothing\n')
  expect((await call(['import-schedules', 'crontab', 'empty'])).code).toBe(0)
})

test("ScrapydWeb's own data is first only shown, then imported: nodes by address, and paused schedules stay paused", async () => {
  const urls = ['127.0.0.1:16801', 'localhost:16802', '127.0.0.1:16803']
  file(
    'nodes.yaml',
    `version: 1\nnodes:\n${urls.map((url, at) => `  - { name: n${at}, url: 'http://${url}' }\n`).join('')}`
  )
  expect((await call(['apply', 'nodes.yaml', '--yes'])).code).toBe(0)
  const written = join(import.meta.dirname, '../engine/api/import/schedules/testing/scrapydweb-1.6.0')
  const words = ['import-schedules', 'scrapydweb', written, '--zone', 'Europe/Berlin']
  const planned = await call(words)
  expect(planned.code).toBe(0)
  expect(planned.out).toContain('15 of 17 can be imported.')
  expect((await engine.client.schedules.list({})).schedules).toEqual([])
  expect((await call([...words, '--yes'])).out).toContain('15 changes made.')
  const { schedules } = await engine.client.schedules.list({})
  const { nodes } = await engine.client.nodes.list()
  const nameOf = new Map(nodes.map(({ id, name }) => [id, name]))
  const made = new Map(schedules.map((one) => [one.name, one]))
  expect(made.get('both nodes')?.jobs.map(({ nodeId }) => nameOf.get(aNodeId(nodeId ?? '')))).toEqual(['n0', 'n2'])
  expect(made.get('unreachable node')?.jobs.map(({ nodeId }) => nameOf.get(aNodeId(nodeId ?? '')))).toEqual(['n1'])
  expect(made.get('paused later')).toMatchObject({ paused: true, pauseNote: 'Paused in ScrapydWeb' })
  expect(made.get('nightly on weekdays')).toMatchObject({ paused: false, zone: 'Europe/Berlin' })
  expect((await call([...words, '--yes'])).out).toContain('No changes: everything matches the file.')
})
