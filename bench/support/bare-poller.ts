/**
 * The bound for watching a fleet: sends the same requests to the same nodes and parses their JSON, but decides
 * nothing. The first message is a PollOrder. Each later message is a measuring time in ms, followed by a reply with
 * the figures.
 */
import { once } from 'node:events'
import { mkdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'undici'
import { BareDatabase, type BareJob } from './bare-database.ts'

export interface PollOrder {
  urls: string[]
  intervalMs: number
  /**
   * If set, keeps `slots` runs on each node, from the queue in the database of `directory`, with the reads and writes
   * of an engine.
   */
  busy?: { slots: number; directory: string }
}

export interface Polled {
  polls: number
  ends: number
  cpuMs: number
  tookMs: number
}

/** Everything that arrives within this time is committed together, as in the engine. */
const COMMIT_MS = 5
const LISTS_MAX_AGE_MS = 5_000
/** The maximum age of the lists of an idle node, whose counters do not change. */
const LISTS_MAX_AGE_IDLE_MS = 60_000
const LOG_END_BYTES = 65_536
/** The same values as in the engine's collector. */
const LOG_READS_PER_SECOND = 200
const LOG_READ_EVERY_MS = 250
const LOG_READ_BYTES = 1_048_576
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const { urls, intervalMs, busy } = (await once(process, 'message'))[0] as PollOrder
const database = busy === undefined ? null : await BareDatabase.open(busy.directory)
const queue = database?.listQueued() ?? []
const copies = join(busy?.directory ?? '', 'copies')
if (busy !== undefined) await mkdir(copies)
const unread: (() => Promise<void>)[] = []
let taken = 0
let polls = 0
let ends = 0

for (const [index, url] of urls.entries()) {
  const node = followNode(`n-${index}`, url)
  setTimeout(
    () => {
      void node.poll()
      setInterval(() => void node.poll(), intervalMs)
    },
    (intervalMs * index) / urls.length
  )
}

if (busy !== undefined) {
  const most = (LOG_READS_PER_SECOND * LOG_READ_EVERY_MS) / 1_000
  setInterval(() => unread.splice(0, most).forEach((read) => void read()), LOG_READ_EVERY_MS)
}

function followNode(nodeId: string, url: string) {
  const { origin, pathname } = new URL(url)
  const client = new Client(origin)
  const sent = new Map<string, BareJob>()
  const running = new Map<string, BareJob>()
  let countersBefore = ''
  let listedAtMs = Number.NEGATIVE_INFINITY
  const get = async (path: string, headers = {}) =>
    (await client.request({ method: 'GET', path: pathname + path, headers })).body
  const start = async () => {
    const job = queue[taken++]!
    await commit('begin', job, nodeId)
    const body = new URLSearchParams({ project: job.project, spider: job.spider, jobid: job.id, _version: '1' })
    const request = { method: 'POST', path: `${pathname}schedule.json`, headers: FORM, body: body.toString() } as const
    await (await client.request(request)).body.json()
    sent.set(job.id, job)
    await commit('accept', job, nodeId)
  }
  const logPath = ({ project, spider, id }: BareJob) => `logs/${project}/${spider}/${id}.log`
  const copied = new Set<string>()
  const copy = async (job: BareJob) => {
    if (!running.has(job.id)) return
    copied.add(job.id)
    const body = await get(logPath(job), { range: `bytes=0-${LOG_READ_BYTES - 1}` })
    await writeFile(join(copies, job.id), new Uint8Array(await body.arrayBuffer()))
  }
  const finish = async (job: BareJob) => {
    void start()
    await commit('finish', job, nodeId)
    await (await get(logPath(job), { range: `bytes=-${LOG_END_BYTES}` })).text()
    await commit('end', job, nodeId)
    if (copied.delete(job.id)) await unlink(join(copies, job.id)).catch(() => {})
    ends += 1
  }
  const list = async () => {
    const listed = (await (await get('listjobs.json')).json()) as { running: BareJob[]; finished: BareJob[] }
    const begun = listed.running.flatMap(({ id }) => sent.get(id) ?? [])
    const ended = listed.finished.flatMap(({ id }) => running.get(id) ?? sent.get(id) ?? [])
    for (const job of begun) running.set(job.id, job)
    if (busy !== undefined) unread.push(...begun.map((job) => () => copy(job)))
    for (const { id } of [...begun, ...ended]) sent.delete(id)
    for (const { id } of ended) running.delete(id)
    await Promise.all([...begun.map((job) => commit('run', job, nodeId)), ...ended.map(finish)])
  }
  return {
    async poll() {
      const status = (await (await get('daemonstatus.json')).json()) as Record<string, number>
      const counters = `${status['pending']} ${status['running']} ${status['finished']}`
      const isFirst = countersBefore === ''
      if (busy !== undefined && isFirst) await Promise.all(Array.from({ length: busy.slots }, start))
      else if (
        busy !== undefined &&
        (counters !== countersBefore || performance.now() - listedAtMs > LISTS_MAX_AGE_MS)
      ) {
        listedAtMs = performance.now()
        await list()
      } else if (busy === undefined && performance.now() - listedAtMs >= LISTS_MAX_AGE_IDLE_MS) {
        listedAtMs = performance.now()
        await list()
      }
      countersBefore = counters
      polls += 1
    }
  }
}

type Step = 'begin' | 'accept' | 'run' | 'finish' | 'end'
interface Waiting {
  step: Step
  job: BareJob
  nodeId: string
  done: () => void
}

let waiting: Waiting[] = []

function commit(step: Step, job: BareJob, nodeId: string): Promise<void> {
  return new Promise((done) => {
    if (waiting.length === 0) setTimeout(writeAll, COMMIT_MS)
    waiting.push({ step, job, nodeId, done })
  })
}

function writeAll(): void {
  const steps = waiting
  waiting = []
  database!.together(() => {
    for (const { step, job, nodeId } of steps) write(step, job.id, nodeId)
  })
  for (const { done } of steps) done()
}

function write(step: Step, id: string, nodeId: string): void {
  if (step === 'begin') database!.begin([id], nodeId)
  else if (step === 'run') database!.run([id])
  else if (step === 'end') database!.end([id])
  else database!.move([id], step === 'accept' ? 'accepted' : 'finishing')
}

process.on('message', ({ measureMs }: { measureMs: number }) => {
  const before = { cpu: process.cpuUsage(), polls, ends, atMs: performance.now() }
  setTimeout(() => {
    const { user, system } = process.cpuUsage(before.cpu)
    const polled: Polled = {
      polls: polls - before.polls,
      ends: ends - before.ends,
      cpuMs: (user + system) / 1_000,
      tookMs: performance.now() - before.atMs
    }
    process.send!(polled)
  }, measureMs)
})
process.on('disconnect', () => process.exit())
