import { inWords } from '../../../shared/testing/in-words.ts'
import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type AlertNews, SECRET_MASK } from '../../../shared/contract/index.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { type Logger, silentLogger } from '../../runtime/logger.ts'
import type { StoredDelivery, StoredWebhook } from '../../model/records.ts'
import { anAlert, aRunAlert, deliveryOf, someNews } from '../../testing/alert-news.ts'
import { openChannelServer } from '../../testing/channel-server.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import type { DispatchQuestion, NodeQuestion } from './plugin.ts'
import { Plugins } from './plugins.ts'
import type { PluginSettings } from './plugin-thread.ts'

const EXAMPLES = join(import.meta.dirname, '..', '..', '..', '..', 'resources', 'plugins')
const QUESTION = {
  job: { id: 'a'.repeat(32), args: { page: '1', token: SECRET_MASK, old: 'x' }, settings: {} },
  attempt: 1,
  version: '1',
  node: { id: 'n1', name: 'eu-1', tags: [] }
} as unknown as DispatchQuestion

let directory: string
let lines: string[]
let logger: Logger
let clock: Clock

beforeEach(async () => {
  clock = systemClock
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  directory = temporary.path
  lines = []
  logger = { ...silentLogger, info: (_facts, text) => void lines.push(text) }
})

async function write(name: string, body: string): Promise<string> {
  const path = join(directory, `${name}.mjs`)
  await writeFile(path, body)
  return path
}

async function open(...all: (Partial<PluginSettings> & { module: string })[]): Promise<Plugins> {
  const plugins = await Plugins.open(
    all.map((one, index) => ({
      name: `p${index}`,
      options: {},
      timeoutMs: 20_000,
      memoryMb: 64,
      onFailure: 'send',
      ...one
    })),
    { clock, logger }
  )
  onTestFinished(() => plugins.stop())
  return plugins
}

const openBody = async (body: string, over: Partial<PluginSettings> = {}) =>
  open({ module: await write('plugin', `export default (options) => (${body})`), ...over })

const tell = (plugins: Plugins, event: string, data: unknown, index = 0) =>
  plugins.send(
    { id: `plugin:p${index}` } as StoredWebhook,
    { id: 'msg_1', event, body: JSON.stringify({ type: event, timestamp: 't', data }) } as StoredDelivery
  )

describe('plugins', () => {
  it('report what is wrong with a module that cannot be loaded, and nothing is started', async () => {
    const refusals: [string, string][] = [
      ['export default 5', 'exports neither hooks nor a function that creates a plugin'],
      ['5', 'exports neither hooks nor a function that creates a plugin'],
      ['export default () => null', 'its default export did not return an object'],
      ['export default () => { throw new Error("say where to") }', 'say where to'],
      ['export default () => ({ jobEnd() {} })', 'unknown hook: jobEnd. The hooks are jobQueued'],
      ['export default () => ({ blobs: { read() {} } })', 'its blobs have no function write'],
      ['this is no module', 'cannot be used'],
      ['process.exit(3)', 'ended before it created a plugin']
    ]
    for (const [index, [body, words]] of refusals.entries()) {
      const opened = open({ module: await write(`bad-${index}`, body) })
      await expect(opened).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE', message: expect.stringContaining(words) })
    }
  })

  it('receive events with their ids, and their options', async () => {
    const plugins = await openBody('{ jobEnded(event) { console.log(options.word, JSON.stringify(event)) } }', {
      options: { word: 'hello' }
    })
    expect(await tell(plugins, 'job.ended', { job: 5 })).toEqual({ isGood: true, answer: 'delivered' })
    await expect.poll(() => lines).toEqual(['hello {"id":"msg_1","type":"job.ended","timestamp":"t","data":{"job":5}}'])
  })

  it.each([
    ['cjs', 'module.exports = { jobEnded() { console.log("told") } }'],
    ['cjs', 'exports.jobEnded = () => console.log("told")'],
    ['cjs', 'module.exports = () => ({ jobEnded() { console.log("told") } })'],
    ['mjs', 'export default { jobEnded() { console.log("told") } }']
  ])('may be a %s module: %s', async (suffix, body) => {
    const path = join(directory, `plugin.${suffix}`)
    await writeFile(path, body)
    expect(await tell(await open({ module: path }), 'job.ended', {})).toEqual({ isGood: true, answer: 'delivered' })
    await expect.poll(() => lines).toEqual(['told'])
  })

  it('with the hooks of a Scrapyd receive project, spider and job, and whether it succeeded', async () => {
    const module = await write(
      'named',
      `export const on_spider_start = (...all) => console.log('start', JSON.stringify(all))
       export const on_spider_complete = (...all) => console.log('complete', JSON.stringify(all))`
    )
    const plugins = await open({ module })
    const job = { id: 'a'.repeat(32), project: 'shop', spider: 'prices', jobid: 'mine', startedAtMs: 5 }
    const ends = [{ status: 'succeeded' }, { status: 'failed' }, { status: 'cancelled', startedAtMs: null }]
    expect(await tell(plugins, 'job.started', { job })).toEqual({ isGood: true, answer: 'delivered' })
    for (const end of ends)
      expect(await tell(plugins, 'job.ended', { job: { ...job, ...end } })).toMatchObject({ isGood: true })
    await expect
      .poll(() => lines)
      .toEqual([
        'start ["shop","prices","mine"]',
        'complete ["shop","prices","mine",true]',
        'complete ["shop","prices","mine",false]'
      ])
    const wanted: string[][] = []
    await plugins.subscribe({
      listWebhooks: async () => [],
      putWebhook: async ({ events }: { events: string[] }) => void wanted.push(events)
    } as never)
    expect(wanted).toEqual([['job.started', 'job.ended']])
  })

  it('with both kinds of hooks for an event are called for both', async () => {
    const plugins = await openBody(`{ jobStarted({ type }) { console.log(type) }, on_spider_start: (...all) => {
      console.log(String(all)) } }`)
    await tell(plugins, 'job.started', { job: { project: 'shop', spider: 'prices', jobid: 'mine' } })
    await expect.poll(() => lines).toEqual(['job.started', 'shop,prices,mine'])
  })

  it('a hook that throws fails alone', async () => {
    const plugins = await openBody('{ jobEnded() { throw new Error("no room") }, jobStarted() {} }')
    expect(await tell(plugins, 'job.ended', {})).toEqual({ isGood: false, answer: 'The plugin p0 failed: no room' })
    expect(await tell(plugins, 'job.started', {})).toMatchObject({ isGood: true })
  })

  it('delay events until they are restarted, even if a timer fires too early', async () => {
    clock = { ...systemClock, setTimer: (delayMs, callback) => systemClock.setTimer(delayMs - 5, callback) }
    const plugins = await openBody('{ jobEnded() { process.exit() }, jobStarted() {} }')
    expect(await tell(plugins, 'job.ended', {})).toMatchObject({ isGood: false })
    expect(await tell(plugins, 'job.started', {})).toEqual({ isGood: true, answer: 'delivered' })
  })

  it.each([
    ['a loop without end', 'for (;;);', 'took longer than 0.3 s for jobEnded'],
    ['waiting for ever', 'return new Promise(() => {})', 'took longer than 0.3 s for jobEnded'],
    ['an exit', 'process.exit()', 'ended itself'],
    [
      'an error nobody waits for',
      'setTimeout(() => { throw new Error("late") }); return new Promise(() => {})',
      'died: late'
    ],
    ['memory without end', 'const all = []; for (;;) all.push(new Array(1e5).fill({}).map(() => ({})))', 'plugin p0']
  ])('%s ends its thread and nothing else, and the plugin starts again', async (_what, body, words) => {
    const timeoutMs = words === 'plugin p0' ? 20_000 : words.startsWith('took') ? 300 : 5_000
    const [bad, good] = [
      await write('bad', `export default () => ({ jobEnded() { ${body} }, jobStarted() {}, beforeDispatch() {} })`),
      await write('good', 'export default () => ({ jobEnded() {} })')
    ]
    const plugins = await open({ module: bad, timeoutMs, memoryMb: 32 }, { module: good })
    expect(await tell(plugins, 'job.ended', {})).toEqual({ isGood: false, answer: expect.stringContaining(words) })
    expect(await tell(plugins, 'job.ended', {}, 1)).toMatchObject({ isGood: true })
    // Jobs do not wait for the plugin to restart, but events do.
    expect(JSON.stringify(await plugins.beforeDispatch!(QUESTION))).toMatch(/plugin_problem.restarts|"notes":\{\}/)
    expect(await tell(plugins, 'job.started', {})).toMatchObject({ isGood: true })
  })

  it('that wait forever while they are created are refused with an explanation, even if nothing else keeps the process alive', async () => {
    const module = await write('never', 'export default () => new Promise(() => {})')
    // A separate process, because the tests' own timers would keep this one alive.
    const script = await write(
      'process',
      `
      import { Plugins } from ${JSON.stringify(import.meta.resolve('./plugins.ts'))}
      import { systemClock } from ${JSON.stringify(import.meta.resolve('../../runtime/clock.ts'))}
      import { silentLogger } from ${JSON.stringify(import.meta.resolve('../../runtime/logger.ts'))}
      const settings = { name: 'never', module: ${JSON.stringify(module)}, options: {}, timeoutMs: 1000, memoryMb: 64, onFailure: 'send' }
      await Plugins.open([settings], { clock: systemClock, logger: silentLogger }).catch(({ message }) => console.log(message))`
    )
    const { stdout } = await promisify(execFile)('node', [script])
    expect(stdout).toContain('The plugin never ended before it created a plugin')
  })

  it('do not see the password of our own endpoint', async () => {
    process.env.SCRAPDECK_PASSWORD = 'very secret'
    onTestFinished(() => void delete process.env.SCRAPDECK_PASSWORD)
    const plugins = await openBody('{ jobEnded() { console.log(String(process.env.SCRAPDECK_PASSWORD)) } }')
    await tell(plugins, 'job.ended', {})
    await expect.poll(() => lines).toEqual(['undefined'])
  })

  describe('that are called before a job is sent', () => {
    it('can change arguments and settings, one after another; secret values stay unchanged', async () => {
      const first = await write(
        'first',
        `export default () => ({ beforeDispatch: ({ job }) => ({ args: { ...job.args, page: '2', old: null, _job: 'x' } }) })`
      )
      const second = await write(
        'second',
        `export default () => ({ beforeDispatch: ({ job }) => ({ settings: { SEEN: JSON.stringify(job.args) } }) })`
      )
      const plugins = await open({ module: first }, { module: second })
      expect(await plugins.beforeDispatch!(QUESTION)).toEqual({
        kind: 'send',
        args: { page: '2', old: null },
        settings: { SEEN: JSON.stringify({ page: '2', token: SECRET_MASK }) },
        notes: { 'changed by p0': ['page', 'token', 'old', '_job'], 'changed by p1': ['SEEN'] }
      })
    })

    it.each([
      [`({ veto: 'not now' })`, { kind: 'wait', plugin: 'p0', words: 'not now', seconds: 60 }],
      [`({ veto: 'later', retryAfterSeconds: 5 })`, { kind: 'wait', plugin: 'p0', words: 'later', seconds: 5 }],
      [`({ cancel: 'never' })`, { kind: 'cancel', plugin: 'p0', words: 'never' }],
      ["({ cancel: 'a\\u202e\\x1b[2J' })", { kind: 'cancel', plugin: 'p0', words: 'a⟨U+202E⟩⟨U+001B⟩[2J' }],
      ['undefined', { kind: 'send', args: {}, settings: {}, notes: {} }]
    ])('may return %s', async (answer, verdict) => {
      const plugins = await openBody(`{ beforeDispatch: () => ${answer} }`)
      expect(await plugins.beforeDispatch!(QUESTION)).toEqual(verdict)
    })

    it.each([
      ['throws', '{ beforeDispatch() { throw new Error("broken") } }', 'broken'],
      [
        'answers nonsense',
        '{ beforeDispatch: () => ({ vetoo: 1 }) }',
        'its answer is not one of: nothing, { args, settings }'
      ],
      ['answers no text', '{ beforeDispatch: () => ({ args: { a: 5 } }) }', 'whose values are texts']
    ])('do not hold the job back if one %s, unless the configuration says so', async (_what, body, words) => {
      const verdictOf = async (onFailure: 'send' | 'hold') =>
        (await openBody(body, { onFailure })).beforeDispatch!(QUESTION)
      expect(inWords(await verdictOf('send'))).toEqual({
        kind: 'send',
        args: {},
        settings: {},
        notes: { 'not asked of p0': expect.stringContaining(words) }
      })
      expect(inWords(await verdictOf('hold'))).toEqual({
        kind: 'wait',
        plugin: 'p0',
        seconds: 60,
        words: expect.stringContaining(words)
      })
    })
  })
})

describe('a plugin that chooses nodes', () => {
  const ask = (plugins: Plugins, ...ids: string[]) =>
    plugins.chooseNodes!(ids.map((id) => ({ job: { id }, candidates: [{ id: 'n1' }, { id: 'n2' }] }) as NodeQuestion))
  const asked = async (plugins: Plugins, ...ids: string[]) => {
    const { byJob, problem } = await ask(plugins, ...ids)
    return inWords(problem ?? Object.fromEntries(byJob))
  }

  it('is called about the jobs, and its reasons are short with invisible characters escaped', async () => {
    clock = createFakeClock()
    const plugins = await openBody(`{ chooseNode: (jobs) => ({
      [jobs[0].job.id]: jobs[0].candidates[1].id,
      [jobs[1].job.id]: { node: 'n1', why: 'a\\u202e\\n' + 'x'.repeat(900) },
      [jobs[2].job.id]: null
    }) }`)
    expect(await asked(plugins, 'a', 'b', 'c')).toEqual({
      a: { node: 'n2', why: 'it gave no reason' },
      b: { node: 'n1', why: `a⟨U+202E⟩⟨U+000A⟩${'x'.repeat(497)}` },
      c: null
    })
    expect((await openBody('{ jobEnded() {} }')).chooseNodes).toBe(null)
  })

  it.each([
    ['throws', 'throw new Error("no map")', 'The plugin p0 failed: no map'],
    ['answers with a text', 'return "n1"', 'its answer is not'],
    ['answers with a list', 'return ["n1"]', 'its answer is not'],
    ['answers with a map', 'return new Map([["a", "n1"]])', 'its answer is not'],
    ['answers with more than it may', 'return { a: { node: "n1", slots: 9 } }', 'its answer is not'],
    ['answers with a number', 'return { a: 7 }', 'its answer is not'],
    ['answers with what cannot be sent', 'return { a: () => 1 }', 'could not be cloned'],
    ['exits', 'process.exit()', 'ended itself']
  ])('that %s is ignored, and called again after a while', async (_what, body, words) => {
    clock = createFakeClock()
    const plugins = await openBody(
      `{ chooseNode(jobs) { if (jobs[0].job.id === 'a') { ${body} } return { b: 'n2' } } }`
    )
    expect(await asked(plugins, 'a')).toContain(words)
    expect(await asked(plugins, 'b')).toContain(words)
    await (clock as FakeClock).advanceBy(10_000)
    expect(await asked(plugins, 'b')).toEqual({ b: { node: 'n2', why: 'it gave no reason' } })
  })

  it('that responds too late is not waited for, keeps its thread, and is not called meanwhile', async () => {
    const late = createFakeClock()
    clock = late
    const plugins = await openBody(`(() => {
      let answer
      return {
        chooseNode: (jobs) => jobs[0].job.id === 'a' ? new Promise((resolve) => { answer = resolve }) : { b: 'n2' },
        jobStarted() { answer({ a: 'n1' }) }
      }
    })()`)
    const waiting = asked(plugins, 'a')
    await late.advanceBy(100)
    expect(await waiting).toBe('it did not answer within 0.1 s')
    await late.advanceBy(11_000)
    expect(await asked(plugins, 'b')).toBe('it did not answer within 0.1 s')
    expect(await tell(plugins, 'job.started', {})).toMatchObject({ isGood: true })
    expect(await asked(plugins, 'b')).toEqual({ b: { node: 'n2', why: 'it gave no reason' } })
  })

  it('that loops forever is stopped by its own time limit, and chooses again after its restart', async () => {
    const late = createFakeClock()
    clock = late
    const plugins = await openBody(`{ chooseNode(jobs) { if (jobs[0].job.id === 'a') for (;;); return { b: 'n2' } } }`)
    const waiting = asked(plugins, 'a')
    await late.advanceBy(100)
    expect(await waiting).toBe('it did not answer within 0.1 s')
    await late.advanceBy(25_000)
    expect(await asked(plugins, 'b')).toEqual({ b: { node: 'n2', why: 'it gave no reason' } })
  })

  it('must be the only one', async () => {
    const module = await write('chooser', 'export const chooseNode = () => null')
    await expect(open({ module }, { module })).rejects.toMatchObject({
      message:
        'The plugins p0 and p1 both have chooseNode, and only one may. Remove one of them from the configuration.'
    })
  })
})

describe('a plugin that checks passwords', () => {
  const GIVEN = { username: 'anna', password: 'violet anchor 12 kettles' }

  it('gets the name and the password, and returns the user or nothing', async () => {
    const plugins = await openBody(`{ authenticate: ({ username, password }) =>
      password === '${GIVEN.password}' ? { name: username + '@x', groups: ['staff'] } : undefined }`)
    const anna = { subject: 'plugin p0 anna@x', name: 'anna@x', groups: ['staff'] }
    expect(await plugins.authenticate!(GIVEN)).toEqual(anna)
    expect(await plugins.authenticate!({ ...GIVEN, password: 'wrong' })).toBe(null)
    expect((await openBody('{ jobEnded() {} }')).authenticate).toBe(null)
  })

  it.each([
    ['throws the password', 'throw new Error(JSON.stringify(given))'],
    ['waits for ever', 'return new Promise(() => {})'],
    ['loops for ever', 'for (;;);'],
    ['exits', 'process.exit()'],
    ['says yes', 'return true'],
    ['says who without saying it', 'return {}'],
    ['gives a role', 'return { name: "anna", role: "owner" }'],
    ['gives rights', 'return { name: "anna", groups: ["staff"], rights: { everywhere: "owner" } }'],
    ['names nobody', 'return { name: "" }'],
    ['hides in a name', 'return { name: "anna\\u202e" }'],
    ['makes lines in a name', 'return { name: "anna\\nroot" }'],
    ['has groups that are no texts', 'return { name: "anna", groups: [{ toString: 1 }] }'],
    ['answers with its own question', 'return given']
  ])('that %s lets nobody in, and its text is neither logged nor shown', async (_what, body) => {
    const fake = createFakeClock()
    clock = fake
    const all: string[] = []
    const keep = (facts: object, text: string) => void all.push(`${text} ${JSON.stringify(facts)}`)
    logger = { debug: keep, info: keep, warn: keep, error: keep }
    const plugins = await openBody(`{ authenticate(given) { ${body} } }`)
    const refused = plugins.authenticate!(GIVEN).catch((error: unknown) => error)
    // Only the plugins that never respond need the timeout.
    if (/ever/.test(_what)) await fake.advanceBy(20_000)
    expect(await refused).toMatchObject({
      code: 'SIGN_IN_UNAVAILABLE',
      message: 'The plugin p0 could not check the password. Try again in a minute, or use a token.'
    })
    expect(all.join('\n')).toContain('a plugin could not check a password')
    expect(all.join('\n')).not.toContain('violet')
  })
})

describe('the examples of docs/plugins.md', () => {
  it('blobs-in-directory stores blobs as every blob store must', async () => {
    const root = join(directory, 'share')
    const module = join(EXAMPLES, 'blobs-in-directory.ts')
    const blobs = (await open({ module, options: { directory: root } })).blobs!
    const pieces = Array.from({ length: 50 }, (_, index) => Buffer.alloc(10_000, index))
    expect(await blobs.write('eggs/abc', Buffer.from([0, 255, 10]))).toEqual({ sizeBytes: 3 })
    expect(await blobs.write('logs/big.gz', Readable.from(pieces))).toEqual({ sizeBytes: 500_000 })
    expect(Buffer.from(await blobs.read('eggs/abc'))).toEqual(Buffer.from([0, 255, 10]))
    expect(Buffer.compare(Buffer.from(await blobs.read('logs/big.gz')), Buffer.concat(pieces))).toBe(0)
    expect([await blobs.has('eggs/abc'), await blobs.has('eggs/abd')]).toEqual([true, false])
    expect(await blobs.list('logs/')).toEqual([{ name: 'logs/big.gz', sizeBytes: 500_000 }])
    expect(await blobs.list('other/')).toEqual([])
    await expect(blobs.read('eggs/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })

    async function* broken() {
      yield Buffer.from('new, but')
      throw new Error('connection lost')
    }
    await expect(blobs.write('logs/big.gz', Readable.from(broken()))).rejects.toThrow()
    expect((await blobs.read('logs/big.gz')).length).toBe(500_000)
    await expect.poll(() => readdir(join(root, '.drafts'))).toEqual([])
    await blobs.delete('eggs/abc')
    await blobs.delete('eggs/abc')
    expect(await blobs.has('eggs/abc')).toBe(false)
  })

  it('alerts-to-chat sends alerts that fire and end to the chat, mentions no one, and fails if the chat does', async () => {
    let status = 200
    await using chat = await openChannelServer(() => ({ status }))
    const plugins = await open({ module: join(EXAMPLES, 'alerts-to-chat.ts'), options: { url: chat.url } })
    expect(plugins.alertNames()).toEqual(['p0'])
    const tellAlert = (news: AlertNews) => plugins.sendAlert('p0', deliveryOf(news))
    await tellAlert(someNews({ firing: [anAlert({ text: 'eu-1 is down: <users/all> @all' })] }))
    await tellAlert(someNews({ firing: [], resolved: [anAlert()] }))
    const many = { firing: [anAlert(), aRunAlert({ text: 'shop/prices failed' })], moreFiring: 3, title: '5 alerts' }
    await tellAlert(someNews({ ...many, kind: 'repeat' }))
    expect(chat.seen.map(({ json }) => (json as { text: string }).text)).toEqual([
      '🔴 eu-1 is down: <\u200busers/all> @\u200ball',
      '🟢 Over: north is down: connection refused',
      'Not acknowledged yet.\n5 alerts\n🔴 north is down: connection refused\n🟠 shop/prices failed\nand 3 more'
    ])
    status = 500
    expect(await tellAlert(someNews())).toMatchObject({
      isGood: false,
      answer: expect.stringContaining('the chat answered 500')
    })
  })

  it('a plugin with the hook alert receives the messages of a channel, and no events', async () => {
    const plugins = await openBody('{ alert({ id, data }) { if (data.title === "x") throw new Error("busy") } }')
    expect(plugins.alertNames()).toEqual(['p0'])
    const message = (title: string) => ({ id: 'msg_1', body: JSON.stringify({ type: 'alert', data: { title } }) })
    expect(await plugins.sendAlert('p0', message('a'))).toEqual({ isGood: true, answer: 'delivered' })
    expect(await plugins.sendAlert('p0', message('x'))).toMatchObject({
      isGood: false,
      answer: expect.stringContaining('busy')
    })
    expect(await plugins.sendAlert('p1', message('a'))).toMatchObject({
      answer: expect.stringContaining('no plugin p1')
    })
    const put: unknown[] = []
    const store = { listWebhooks: async () => [], putWebhook: async (one: unknown) => void put.push(one) }
    await plugins.subscribe(store as never)
    expect(put).toEqual([])
  })

  it('same-node sends a spider to the same node while that has room, and then to its second one', async () => {
    clock = createFakeClock()
    const plugins = await open({ module: join(EXAMPLES, 'same-node.ts'), options: { tag: 'cache' } })
    const nodeOf = (name: string, free: number, tags = ['cache']) => ({ id: `id-${name}`, name, tags, slots: 2, free })
    const choose = async (...candidates: NodeQuestion['candidates']) => {
      const job = { project: 'shop', spider: 'prices', priority: 0, version: '1' }
      const { byJob } = await plugins.chooseNodes!(['a', 'b', 'c'].map((id) => ({ job: { ...job, id }, candidates })))
      return [...byJob.values()].map((choice) => choice?.node)
    }
    const all = [nodeOf('eu-1', 2), nodeOf('eu-2', 2), nodeOf('us-1', 9, [])]
    const [first, again, second] = await choose(...all)
    expect([first, again, second].toSorted()).not.toContain('id-us-1')
    expect([first === again, first === second]).toEqual([true, false])
    expect(await choose(...all.toReversed())).toEqual([first, again, second])
    expect(await choose(...all.map((one) => (one.id === first ? { ...one, free: 0 } : one)))).toEqual([second, second])
  })

  it('passwords-over-http asks the service, lets in whom it names, and lets no one in while it fails or is not safe', async () => {
    await using service = await openChannelServer([
      { status: 200, body: '{"name": "anna", "groups": ["staff"], "role": "owner"}' },
      { status: 401 },
      { status: 500, body: '{"name": "anna"}' },
      { status: 302, headers: { location: '/elsewhere' } }
    ])
    const module = join(EXAMPLES, 'passwords-over-http.ts')
    const plugins = await open({ module, options: { url: service.url } })
    const ask = () => plugins.authenticate!({ username: 'anna', password: 'secret words' })
    expect(await ask()).toEqual({ subject: 'plugin p0 anna', name: 'anna', groups: ['staff'] })
    expect(await ask()).toBe(null)
    await expect(ask()).rejects.toMatchObject({ code: 'SIGN_IN_UNAVAILABLE' })
    await expect(ask()).rejects.toMatchObject({ code: 'SIGN_IN_UNAVAILABLE' })
    expect(service.seen.map(({ json }) => json)).toEqual(Array(4).fill({ username: 'anna', password: 'secret words' }))
    await expect.poll(() => lines).toContain('the service that checks passwords answered 500')
    for (const url of ['', 'http://auth.example.org', 'http://localhost.example.org', 'http://127.0.0.1@example.org/'])
      await expect(open({ module, options: { url } })).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE' })
  })

  it('only one plugin can store blobs', async () => {
    const module = join(EXAMPLES, 'blobs-in-directory.ts')
    const both = open({ module, options: { directory } }, { module, options: { directory } })
    await expect(both).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE', message: expect.stringContaining('p0 and p1') })
  })
})
