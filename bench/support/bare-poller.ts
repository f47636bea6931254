/**
 * The bound of watching a fleet: one process that sends the same requests to the same nodes and parses their JSON, and
 * decides nothing. Each message holds a time in ms to measure over; after that time it replies with the figures.
 *
 *   fork('bare-poller.ts', [JSON.stringify(order)])
 */
import { Client } from 'undici'
import { BareDatabase, type BareJob } from './bare-database.ts'

export interface PollOrder {
  urls: string[]
  intervalMs: number
  /** Keeps so many runs on each node: lists jobs when counters changed, reads log ends, writes all of it here. */
  busy?: { slots: number; directory: string }
}

export interface Polled {
  polls: number
  ends: number
  cpuMs: number
  tookMs: number
}

/** As the engine does: what comes within this time shares its commits. */
const COMMIT_MS = 5
const LOG_END_BYTES = 65_536
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const { urls, intervalMs, busy } = JSON.parse(process.argv[2]!) as PollOrder
const database = busy === undefined ? null : await BareDatabase.open(busy.directory)
let polls = 0
let ends = 0

for (const [index, url] of urls.entries()) {
  const node = followNode(url)
  setTimeout(
    () => {
      void node.poll()
      setInterval(() => void node.poll(), intervalMs)
    },
    (intervalMs * index) / urls.length
  )
}

function followNode(url: string) {
  const { origin, pathname } = new URL(url)
  const client = new Client(origin)
  const running = new Map<string, BareJob>()
  let finishedBefore = -1
  const get = async (path: string, headers = {}) =>
    (await client.request({ method: 'GET', path: pathname + path, headers })).body
  const start = async () => {
    const job = { id: database!.newId(), project: 'shop', spider: 's0' }
    running.set(job.id, job)
    await commit('begin', job)
    const body = new URLSearchParams({ project: job.project, spider: job.spider, jobid: job.id, _version: '1' })
    const request = { method: 'POST', path: `${pathname}schedule.json`, headers: FORM, body: body.toString() } as const
    await (await client.request(request)).body.json()
    await commit('accept', job)
  }
  const look = async () => {
    const { finished } = (await (await get('listjobs.json')).json()) as { finished: BareJob[] }
    const ended = finished.flatMap(({ id }) => running.get(id) ?? [])
    for (const { id } of ended) running.delete(id)
    await Promise.all(
      ended.map(async (job) => {
        void start()
        const path = `logs/${job.project}/${job.spider}/${job.id}.log`
        await (await get(path, { range: `bytes=-${LOG_END_BYTES}` })).text()
        await commit('end', job)
        ends += 1
      })
    )
  }
  return {
    async poll() {
      const { finished } = (await (await get('daemonstatus.json')).json()) as { finished: number }
      if (busy !== undefined && finishedBefore === -1) await Promise.all(Array.from({ length: busy.slots }, start))
      else if (busy !== undefined && finished !== finishedBefore) await look()
      finishedBefore = finished
      polls += 1
    }
  }
}

type Step = 'begin' | 'accept' | 'end'
interface Waiting {
  step: Step
  job: BareJob
  done: () => void
}

let waiting: Waiting[] = []

function commit(step: Step, job: BareJob): Promise<void> {
  return new Promise((done) => {
    if (waiting.length === 0) setTimeout(writeAll, COMMIT_MS)
    waiting.push({ step, job, done })
  })
}

function writeAll(): void {
  const steps = waiting
  waiting = []
  const jobsOf = (step: Step) => steps.filter((one) => one.step === step).map(({ job }) => job)
  const idsOf = (step: Step) => jobsOf(step).map(({ id }) => id)
  database!.together(() => {
    database!.enqueue(jobsOf('begin'))
    database!.begin(idsOf('begin'), 'bare')
    database!.move(idsOf('accept'), 'accepted')
    database!.move(idsOf('end'), 'finishing')
    database!.end(idsOf('end'))
  })
  for (const { done } of steps) done()
}

process.on('message', ({ measureMs }: { measureMs: number }) => {
  const before = { cpu: process.cpuUsage(), polls, ends, atMs: performance.now() }
  setTimeout(() => {
    const { user, system } = process.cpuUsage(before.cpu)
    const polled: Polled = {
      ...{ polls: polls - before.polls, ends: ends - before.ends, cpuMs: (user + system) / 1_000 },
      tookMs: performance.now() - before.atMs
    }
    process.send!(polled)
  }, measureMs)
})
process.on('disconnect', () => process.exit())
