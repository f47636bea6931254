import { expect, it } from 'vitest'
import type { Job } from '../shared/contract/index.ts'
import { EXAMPLES } from '../shared/examples/operations.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { whyOf } from './client/why.ts'
import { call, openEngine, startServer } from './testing/call.ts'

const UUID = '6487ec79947edab326d6db28a2d86511'

it('jobs, logs and cancel find a job by the jobid that its client chose', async () => {
  const { engine, run, post } = await openEngine()
  await engine.prepare('berlin')
  const jobids = ['2026-11-22T10_00_00', UUID]
  for (const jobid of jobids) await post('schedule.json', { project: 'shop', spider: 'prices', jobid })
  const { jobs } = await engine.client.jobs.list({})
  for (const jobid of jobids) {
    const { id } = jobs.find((job) => job.jobid === jobid)!
    const shown = await run('jobs', jobid)
    expect([shown.code, shown.out]).toEqual([0, expect.stringContaining(`${id} (jobid ${jobid})`)])
    const [byJobid, byId] = [await run('logs', jobid), await run('logs', id)]
    expect([byJobid.code, byJobid.error]).toEqual([byId.code, byId.error])
    expect(await run('cancel', jobid)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1 job (asked|cancelled) /)
    })
  }
  expect(await run('jobs', 'xyz')).toMatchObject({
    code: EXIT_CODES.notFound,
    error: expect.stringContaining('There is no job with the id or jobid xyz')
  })
})

it('finds a job by its short id, or by more characters of its start or end', async () => {
  const { engine, run, post } = await openEngine()
  await engine.prepare('berlin')
  await post('schedule.json', { project: 'shop', spider: 'prices' })
  const { jobs } = await engine.client.jobs.list({})
  const { id } = jobs[0]!
  for (const text of [id.slice(-8), id.slice(-20), id.slice(0, 18)])
    expect((await run('jobs', text)).out, text).toContain(id)
  expect((await run('jobs', id.slice(-7))).error).toContain('An id can be shortened to its last 8 digits.')
})

it('for a jobid of several jobs, prints their ids', async () => {
  const { engine, run, post } = await openEngine()
  await engine.prepare('berlin')
  for (let count = 0; count < 2; count += 1) {
    await post('schedule.json', { project: 'shop', spider: 'prices', jobid: 'night' })
    await run('cancel', 'night')
  }
  const { code, error } = await run('jobs', 'night')
  expect([code, error]).toEqual([
    EXIT_CODES.usage,
    expect.stringMatching(/^Several jobs .+ [0-9a-f]{32} \(shop\/prices/)
  ])
})

it('--user lists the jobs ordered for that user, and a job shows its user', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'], userId: 'ann' })
  await engine.client.jobs.run({ project: 'shop', spiders: ['prices'], userId: 'bob' })
  const { out } = await run('jobs', '--user', 'ann', '--json')
  expect(JSON.parse(out).jobs.map((job: Job) => job.id)).toEqual([jobs[0]!.id])
  expect((await run('jobs', jobs[0]!.id)).out).toMatch(/^User {7}ann$/m)
  expect((await run('jobs', '--user', 'nobody')).out).toBe('No jobs.\n')
})

it('--since takes a duration or a time', async () => {
  const asked: string[] = []
  const url = await startServer((request, response) => {
    asked.push(request.url ?? '')
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jobs: [], nodes: [], nextBefore: null }))
  })
  const nowMs = () => 1_000_000_000_000
  expect(await call(['jobs', '--since', '2h'], { url, nowMs })).toMatchObject({ code: 0, out: 'No jobs.\n' })
  expect(await call(['jobs', '--since', '2026-11-22T10:00:00Z'], { url, nowMs })).toMatchObject({ code: 0 })
  const times = asked.flatMap((one) => /sinceMs=(\d+)/.exec(one)?.[1] ?? [])
  expect(times.map(Number)).toEqual([1_000_000_000_000 - 7_200_000, Date.UTC(2026, 10, 22, 10)])
  expect((await call(['jobs', '--since', 'lately'], { url })).code).toBe(EXIT_CODES.usage)
})

it('--watch prints the list again when something has changed, not when only ages have', async () => {
  const job = EXAMPLES.jobs.get.output.job
  let looks = 0
  const url = await startServer((request, response) => {
    if (request.url?.includes('/jobs')) looks += 1
    const jobs = [{ ...job, status: looks < 3 ? 'queued' : 'running', scheduleId: null }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jobs, nodes: [], nextBefore: null }))
  })
  let [nowMs, slept] = [job.queuedAtMs, 0]
  const sleep = async (ms: number) => {
    nowMs += ms
    slept += 1
    if (slept === 4) throw new Error('interrupted')
  }
  const { out } = await call(['jobs', '--watch'], { url, sleep, nowMs: () => nowMs })
  expect(looks).toBe(4)
  expect(out.match(/queued|running/g)).toEqual(['queued', 'running'])
})

it('--watch continues after the engine was away for a while', async () => {
  const job = { ...EXAMPLES.jobs.get.output.job, scheduleId: null }
  let looks = 0
  const url = await startServer((request, response) => {
    if (request.url?.includes('/jobs')) looks += 1
    if (looks === 2) return response.writeHead(502, { 'content-type': 'text/html' }).end()
    response.setHeader('content-type', 'application/json')
    const jobs = [{ ...job, status: looks < 3 ? 'queued' : 'running' }]
    return response.end(JSON.stringify({ jobs, nodes: [], nextBefore: null }))
  })
  const sleep = async () => {
    if (looks === 3) throw new Error('interrupted')
  }
  const { out, error } = await call(['jobs', '--watch'], { url, sleep })
  expect(out.match(/queued|running/g)).toEqual(['queued', 'running'])
  expect(error).toMatch(/^http:\S+ answered with 502/)
})

it('--watch --json prints what has changed, and the ids of jobs that left the list', async () => {
  const { job } = EXAMPLES.jobs.get.output
  const other = { ...job, id: '019b0000000000000000000000000009' }
  const looks = [[job, other], [job, other], [other], []]
  const url = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jobs: looks.shift(), nextBefore: null }))
  })
  const sleep = async () => {
    if (looks.length === 0) throw new Error('interrupted')
  }
  const { out } = await call(['jobs', '--watch', '--json'], { url, sleep })
  const printed = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(printed.map(({ jobs, left }) => [jobs.map(({ id }: Job) => id), left])).toEqual([
    [[job.id, other.id], []],
    [[], [job.id]],
    [[], [other.id]]
  ])
})

it('cancel waits once for all requested cancels, and succeeds even if their results cannot be read', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `019b00000000000000000000000000${index + 10}`)
  const detail = { ...EXAMPLES.jobs.get.output, timeline: [] }
  const asking = { ...detail, job: { ...detail.job, state: 'running' } }
  const url = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'POST') response.end(JSON.stringify({ asked: ids, alreadyEnded: [] }))
    else if (request.url!.endsWith(ids[0]!))
      response.writeHead(500).end('{"code":"INTERNAL","message":"","status":500}')
    else response.end(JSON.stringify(asking))
  })
  let sleptMs = 0
  const sleep = async (ms: number) => void (sleptMs += ms)
  const { code, out } = await call(['cancel', ...ids], { url, sleep })
  expect([code, out.split('\n')]).toEqual([
    0,
    ['1 job asked to stop.', '19 jobs asked to stop; the signal has not been sent yet.', '']
  ])
  expect(sleptMs).toBe(800)
})

it('a project, spider or tag that matches nothing is reported, with suggestions of similar names', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  expect(await run('jobs', '--project', 'shopp')).toMatchObject({
    code: EXIT_CODES.notFound,
    out: '',
    error: 'There is no project shopp. Did you mean "shop"?'
  })
  expect((await run('jobs', '--project', 'shopp', '--json')).code).toBe(EXIT_CODES.notFound)
  expect((await run('jobs', '--project', 'shop')).error).toBe('')
  expect((await run('jobs', '--project', 'x*')).error).toBe('No project matches x*.')
  expect((await run('schedules', 'list', '--project', 'shopp')).error).toContain('There is no project shopp.')
  const tagged = await run('run', 'shop', 'prices', '--tag', 'gpu')
  expect([tagged.code, tagged.error]).toEqual([
    0,
    'No node is tagged gpu, so nothing starts until one is. Tags of the nodes: none.\n'
  ])
})

it('run --wait says why a job waits whenever that changes and every minute, and has a time limit', async () => {
  const id = '019b0000000000000000000000000001'
  let looks = 0
  const url = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'POST')
      return response.end(JSON.stringify({ jobs: [{ id, status: 'queued', waiting: null }] }))
    looks += 1
    const waiting = { code: 'all_slots_busy', text: looks < 3 ? 'All slots are busy' : 'berlin is down' }
    const nothing = { reason: null, killingLine: null, cancelAskedAtMs: null, unknownSinceMs: null, startedAtMs: null }
    return response.end(JSON.stringify({ state: 'queued', status: 'queued', queuedAtMs: 0, waiting, ...nothing }))
  })
  let nowMs = 0
  const sleep = async (ms: number) => void (nowMs += ms)
  const words = ['run', 'shop', 'prices', '--wait', '--timeout', '90s']
  const { code, error } = await call(words, { url, sleep, nowMs: () => nowMs })
  expect(code).toBe(EXIT_CODES.timedOut)
  expect(error.split('\n')).toEqual([
    'Waiting for 1 job. The jobs continue if you interrupt this command.',
    `${id}  queued for 0 s: All slots are busy`,
    `${id}  queued for 2 s: berlin is down`,
    `${id}  queued for 1 min: berlin is down`,
    `After 1 min 30 s, 1 job had not ended: ${id}. The jobs continue; "scrapdeck cancel" ends them.`
  ])
  expect((await call(['run', 'shop', 'prices', '--timeout', '90s'], { url })).code).toBe(EXIT_CODES.usage)
})

it('run --wait says why a job failed, and invents no time at which it was sent', async () => {
  const id = '019b0000000000000000000000000001'
  const nothing = { reason: null, killingLine: null, cancelAskedAtMs: null, unknownSinceMs: null, startedAtMs: null }
  const failed = { state: 'ended', outcome: 'failed', reason: 'exit code 1', killingLine: 'RuntimeError: no price' }
  const looks = [
    { state: 'queued', status: 'queued', waiting: null },
    { state: 'starting', status: 'starting', waiting: null },
    failed
  ]
  const url = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    const made = { jobs: [{ id, status: 'queued', waiting: null }] }
    response.end(
      JSON.stringify(request.method === 'POST' ? made : { ...nothing, queuedAtMs: 60_000, ...looks.shift() })
    )
  })
  const { out, error } = await call(['run', 'shop', 'prices', '--wait'], { url })
  expect(out).toBe(`${id}  queued\n${id}  failed (exit code 1: RuntimeError: no price)\n`)
  expect(error.split('\n').slice(1)).toEqual([`${id}  starting (queued 1 s ago)`, ''])
})

it('cancel says what was sent, and how long each job has to react', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const { id } = jobs[0]!
  await engine.until(async () => (await engine.client.jobs.get({ id })).job.state === 'running')
  expect((await run('cancel', '--wait', '119', id)).out).toMatch(/^1 job asked to stop \(INT\); next INT in .+\.\n$/)
  expect((await run('cancel', '--force', id)).out).toMatch(
    /^1 job asked to stop immediately \(second INT\); next KILL in .+\.\n$/
  )
  const later = await run('run', 'shop', 'prices', '--at', '2100-01-01')
  expect((await run('cancel', later.out.slice(0, 32))).out).toBe('1 job cancelled before a run started.\n')
})

it('logs of a queued job say why there is none', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const id = (await run('run', 'shop', 'prices', '--at', '2100-01-01')).out.slice(0, 32)
  const { code, error } = await run('logs', id)
  expect([code, error]).toEqual([
    EXIT_CODES.notFound,
    expect.stringMatching(/has no readable log yet: it is queued \(not before 2100/)
  ])
})

it('logs -f of a queued job says why it waits, and prints the log once it runs', async () => {
  const id = '019b0000000000000000000000000001'
  const piece = { offset: 0, nextOffset: 4, sizeBytes: 4, text: 'one\n', complete: true }
  const waiting = { code: 'all_slots_busy', text: 'All slots are busy' }
  const nothing = { reason: null, killingLine: null, cancelAskedAtMs: null, unknownSinceMs: null, startedAtMs: null }
  const url = await startServer((request, response) => {
    const isStatus = request.url!.endsWith('/status')
    response.setHeader('content-type', isStatus ? 'application/json' : 'text/event-stream')
    response.end(
      isStatus
        ? JSON.stringify({ state: 'queued', status: 'queued', queuedAtMs: 0, waiting, ...nothing })
        : `event: message\ndata: ${JSON.stringify(piece)}\n\nevent: done\n\n`
    )
  })
  expect(await call(['logs', '-f', id], { url })).toMatchObject({
    code: 0,
    out: 'one\n',
    error: `${id} is queued: All slots are busy. Its log starts when the job runs.\n`
  })
})

it('lists name the schedule of each job and firing', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  await run('schedules', 'create', 'nightly', '--project', 'shop', '--spider', 'prices', '--cron', '@daily')
  await run('schedules', 'run', 'nightly')
  expect((await run('jobs')).out).toMatch(/^ID .+ SCHEDULE .+\n\S+ .+ nightly /)
  expect((await run('schedules', 'history')).out).toMatch(/^SCHEDULE +FOR .+\nnightly /)
  await run('schedules', 'remove', 'nightly')
  expect((await run('jobs')).out).toMatch(/^ID .+ SCHEDULE .+\n\S+ .+ \(deleted schedule\) /)
})

it.each<[string, Partial<Job>]>([
  ['next in queue', { state: 'queued', waiting: null }],
  [
    'Retry of a failed run (in 30 s), attempt 2 of 3',
    {
      state: 'queued',
      attemptCount: 1,
      retry: { attempts: 3, backoffSeconds: 1, backoffFactor: 1, backoffMaxSeconds: 1, on: ['failed'] },
      waiting: { code: 'retry_wait', text: 'Retry of a failed run', untilMs: 129_500 }
    }
  ],
  [
    'All slots are busy; expires in 5 min',
    {
      state: 'queued',
      waiting: { code: 'all_slots_busy', text: 'All slots are busy' },
      expiresAtMs: 400_000
    }
  ],
  ['cancelling for 10 s', { state: 'running', cancelAskedAtMs: 90_000 }],
  ['its node has been unreachable for 40 s, so its state is unknown', { state: 'running', unknownSinceMs: 60_000 }],
  [
    'exit code 1: ValueError: no price; may have run more than once',
    {
      state: 'ended',
      reason: 'exit code 1',
      killingLine: 'ValueError: no price',
      mayHaveRunTwice: true
    }
  ]
])('the column WHY of a list says %j', (text, fields) => {
  const { job } = EXAMPLES.jobs.get.output
  const plain = { ...job, waiting: null, reason: null, killingLine: null, cancelAskedAtMs: null, unknownSinceMs: null }
  expect(whyOf({ ...plain, mayHaveRunTwice: false, expiresAtMs: null, ...fields }, 100_000)).toBe(text)
})

it('a job that is being stopped shows what was sent, and when the next step is due', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const { id } = jobs[0]!
  const detail = () => engine.client.jobs.get({ id })
  await engine.until(async () => (await detail()).job.state === 'running')
  await run('cancel', '--wait', '60', id)
  await engine.until(async () => (await detail()).timeline.some(({ kind }) => kind === 'cancel_sent'))
  const sent = (await detail()).timeline.find(({ kind }) => kind === 'cancel_sent')!
  expect(sent.evidence).toMatchObject({ next: 'INT', nextAtMs: sent.atMs + 60_000 })
  expect((await run('jobs', id)).out).toMatch(
    /^Stopping +Asked the run to stop \(INT\); next INT at .+: "scrapdeck cancel --force [0-9a-f]{32}" sends it now$/m
  )
})

it('a time in the past is refused: no job starts early, and no schedule is created that never fires', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const job = await run('run', 'shop', 'prices', '--at', '1970-01-01')
  expect([job.code, job.error]).toEqual([EXIT_CODES.usage, expect.stringContaining('has passed. Leave it out to run')])
  const timing = ['--project', 'shop', '--spider', 'prices', '--at', '1970-01-01T00:00:30Z']
  const schedule = await run('schedules', 'create', 'once', ...timing)
  expect([schedule.code, schedule.error]).toEqual([EXIT_CODES.usage, expect.stringContaining('would never fire')])
  expect((await run('run', 'shop', 'prices', '--at', '5')).code).toBe(EXIT_CODES.usage)
  expect((await engine.client.jobs.list({})).jobs).toEqual([])
  expect((await engine.client.schedules.list({})).schedules).toEqual([])
})

it('run omits defaults on request, and lists them if one does not exist', async () => {
  const { engine, run } = await openEngine()
  const nodeId = await engine.prepare('berlin')
  const [project] = (await engine.client.projects.list()).projects
  const defaults = { ...project!.settings.defaults, args: { day: 'today', zip: '1' }, nodeId }
  await engine.client.projects.configure({ project: 'shop', settings: { ...project!.settings, defaults } })
  const orderOf = async (...words: string[]) => {
    const { jobs } = JSON.parse((await run('run', 'shop', 'prices', '--json', ...words)).out)
    return [jobs[0].args, jobs[0].placement]
  }
  expect(await orderOf()).toEqual([
    { day: 'today', zip: '1' },
    { nodeId, tags: [] }
  ])
  expect(await orderOf('--without-default', 'zip')).toEqual([{ day: 'today' }, { nodeId, tags: [] }])
  expect(await orderOf('--any-node')).toEqual([
    { day: 'today', zip: '1' },
    { nodeId: null, tags: [] }
  ])
  expect(await orderOf('--without-default', '*')).toEqual([{}, { nodeId: null, tags: [] }])
  const wrong = await run('run', 'shop', 'prices', '--without-default', 'zork')
  expect([wrong.code, wrong.error]).toEqual([EXIT_CODES.usage, expect.stringContaining('There are day, zip.')])
  expect((await run('run', 'shop', 'prices', '--any-node', '--tag', 'eu')).code).toBe(EXIT_CODES.usage)
})

it('schedules show what they run, and when in their own zone', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const words = [
    '--project',
    'shop',
    '--spider',
    'prices',
    '-a',
    'day=1',
    '--cron',
    '30 1 * * *',
    '--zone',
    'Asia/Tokyo'
  ]
  expect((await run('schedules', 'create', 'nightly', ...words)).out).toMatch(/Next: \S+ 01:30:00 Asia\/Tokyo\n$/)
  expect((await run('schedules', 'list')).out).toMatch(/\nnightly +active +shop\/prices +\S+ 01:30:00 Asia\/Tokyo /)
  const shown = (await run('schedules', 'show', 'nightly')).out
  expect(shown).toContain('\nRuns shop / prices day=1\n')
  expect(shown).toMatch(/\nLast: it has not fired yet\n$/)
  await run('schedules', 'pause', 'nightly')
  expect((await run('schedules', 'create', 'nightly', '--replace', ...words)).out).toMatch(
    /^Replaced .+ It is paused\.\n$/
  )
})

it('jobs ID says which variables and secrets its node could not keep', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const order = { project: 'shop', spiders: ['prices'], args: { token: 'x' }, secretNames: ['token'], env: { A: '1' } }
  const { jobs } = await engine.client.jobs.run(order)
  const { id } = jobs[0]!
  await engine.until(async () => (await engine.client.jobs.get({ id })).timeline.some(({ kind }) => kind === 'sending'))
  const { timeline } = await engine.client.jobs.get({ id })
  const said = timeline.flatMap(({ evidence }) => [evidence['env'], evidence['secrets']]).filter(Boolean)
  expect(said).not.toEqual([])
  const { out } = await run('jobs', id)
  for (const words of said) expect(out).toContain(String(words))
})

it('a count that the log does not contain is shown as unknown, not 0', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const { jobs } = await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const { id } = jobs[0]!
  await engine.until(async () => engine.node.running.length > 0)
  engine.node.end(id)
  engine.node.logs.set(id, engine.node.logs.get(id)!.replace("'item_scraped_count': 3", "'item_scraped_count': None"))
  await engine.until(async () => (await engine.client.jobs.get({ id })).job.state === 'ended')
  expect((await run('jobs', id)).out).toMatch(/^Counts {5}an unknown number of items, 0 pages, 0 errors$/m)
})
