import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { ALLOWED_DIFFERENCES } from './allowed-differences.ts'
import { judge, mask, see } from './comparison.ts'
import type { Exchange, Seen } from './exchange.ts'
import { REPORTS_VARIABLE } from './eggs.ts'
import { type Answer, asCurl, get, post, type Request, send } from './http.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'

export interface Finding extends Exchange {
  difference: string
  curl: string
}

export interface Tally {
  requests: Map<string, number>
  findings: Finding[]
  used: Map<string, number>
  /** Scenarios that failed before their end, with the reason. */
  brokenOff: string[]
}

export function newTally(): Tally {
  return { requests: new Map(), findings: [], used: new Map(), brokenOff: [] }
}

export interface Side {
  name: 'theirs' | 'ours'
  address: string
  directory: string
}

export interface Both {
  theirs: Answer
  ours: Answer
}

export const CREDENTIALS = { username: 'tester', password: 'a password for tests' }
const AUTHORIZATION = basicAuthorization(CREDENTIALS)
const NODE_NAME = 'node ü'
const SLOTS = 1
const JOB_LIMIT_MS = 30_000

/** A real Scrapyd and our service, each in its own directory. Both get the same requests. */
export class Pair {
  scenario = ''
  readonly theirs: Side
  readonly ours: Side
  readonly #tally: Tally
  readonly #scrapyd: Scrapyd
  readonly #service: Service
  readonly #base: string

  private constructor(tally: Tally, base: string, scrapyd: Scrapyd, service: Service) {
    this.#tally = tally
    this.#base = base
    this.#scrapyd = scrapyd
    this.#service = service
    this.theirs = { name: 'theirs', address: scrapyd.url, directory: join(base, 'theirs') }
    this.ours = { name: 'ours', address: service.address, directory: join(base, 'ours') }
  }

  /**
   * With `jobsToKeep` 0, both sides keep all files. If ids repeat, our side has more files, so the two sides would
   * prune different ones.
   */
  static async start(tally: Tally, jobsToKeep = 0): Promise<Pair> {
    const base = mkdtempSync(join(tmpdir(), 'scrapdeck-differential-'))
    const environmentOf = (side: string) => {
      const reports = join(base, side, 'reports')
      mkdirSync(reports, { recursive: true })
      // scrapyd-fleet.ts always starts Scrapyd with PYTHONUNBUFFERED, and its spiders see it.
      return { [REPORTS_VARIABLE]: reports, DIFFERENTIAL_INHERITED: 'ä b;c', PYTHONUNBUFFERED: '1' }
    }
    const environments = { theirs: environmentOf('theirs'), ours: environmentOf('ours') }
    const configuration = join(base, 'ours', 'scrapyd.conf')
    const directories = ['eggs', 'logs', 'items', 'dbs'].map((name) => `${name}_dir = ${join(base, 'ours', name)}\n`)
    writeFileSync(
      configuration,
      `[scrapyd]\nnode_name = ${NODE_NAME}\njobs_to_keep = ${jobsToKeep}\n${directories.join('')}`
    )
    const [scrapyd, service] = await Promise.allSettled([
      startScrapyd({
        directory: join(base, 'theirs'),
        maxProc: SLOTS,
        pollIntervalSeconds: 0.05,
        // Does not fork spiders, because the test compares what they report about their process.
        forks: 'lists',
        ...CREDENTIALS,
        configuration: { node_name: NODE_NAME, jobs_to_keep: jobsToKeep },
        environment: environments.theirs
      }),
      startService({
        dataDirectory: join(base, 'ours', 'data'),
        localSlots: SLOTS,
        arguments: ['--config', configuration],
        environment: { PYTHONPATH: '', ...environments.ours }
      })
    ])
    if (scrapyd.status === 'fulfilled' && service.status === 'fulfilled') {
      return new Pair(tally, base, scrapyd.value, service.value)
    }
    if (scrapyd.status === 'fulfilled') await scrapyd.value.stop()
    if (service.status === 'fulfilled') await service.value.stop()
    rmSync(base, { recursive: true, force: true, maxRetries: 5 })
    throw scrapyd.status === 'rejected' ? scrapyd.reason : (service as PromiseRejectedResult).reason
  }

  get sides(): [Side, Side] {
    return [this.theirs, this.ours]
  }

  /** Sends the request to both and compares the responses. */
  async ask(request: Request): Promise<Both> {
    return this.askEach(() => request)
  }

  /** Like `ask`, for responses whose length and body always differ, such as logs with times and measurements. */
  async askForHeaders(request: Request): Promise<Both> {
    return this.askEach(
      () => request,
      (seen) => {
        const headers = { ...seen.headers }
        const range = headers['content-range']
        if (range !== undefined) headers['content-range'] = range.replace(/\d+/g, '#')
        if (request.method === 'HEAD' && 'content-length' in headers) headers['content-length'] = '#'
        return { ...seen, headers, body: '' }
      }
    )
  }

  /** Like `ask`, for a request that differs by side, for example because it contains a side's job id. */
  async askEach(requestOf: (side: Side) => Request, adapt: (seen: Seen) => Seen = (seen) => seen): Promise<Both> {
    const request = requestOf(this.ours)
    const [theirs, ours] = await Promise.all(this.sides.map((side) => this.#send(side, requestOf(side))))
    const endpoint = request.path.split(/[?;]/, 1)[0]!.replace(/^\/(logs|items)\/.*/, '/$1/…')
    const known = /^\/[a-z]*(\.json)?$|…$/.test(endpoint) ? endpoint : '(other paths)'
    this.#tally.requests.set(known, (this.#tally.requests.get(known) ?? 0) + 1)
    const [seenTheirs, seenOurs] = [see(request, theirs!, this.theirs), see(request, ours!, this.ours)]
    this.compare(request, adapt(seenTheirs), adapt(seenOurs))
    return { theirs: theirs!, ours: ours! }
  }

  async askAll(requests: Request[]): Promise<void> {
    for (const request of requests) await this.ask(request)
  }

  compare(request: Request, theirs: Seen, ours: Seen): void {
    const exchange = { scenario: this.scenario, request, theirs, ours }
    const { difference, used } = judge(exchange, ALLOWED_DIFFERENCES)
    for (const id of used) this.#tally.used.set(id, (this.#tally.used.get(id) ?? 0) + 1)
    if (difference === null) return
    this.#tally.findings.push({ ...exchange, difference, curl: asCurl(request, this.ours.address, CREDENTIALS) })
  }

  /** Compares what jobs left behind as if it were a response: by name, and with the same allowed differences. */
  compareFacts(name: string, factsOf: (side: Side) => unknown): void {
    const [theirs, ours] = this.sides.map((side) => {
      const text = JSON.stringify(factsOf(side), null, 1) ?? 'undefined'
      return { status: 0, headers: {}, body: mask(text, side) }
    })
    this.compare({ method: 'JOB', path: `/${name}` }, theirs!, ours!)
  }

  /** Sends the request to both sides without comparing the responses. Use this to set up a state. */
  async quietly(request: Request): Promise<void> {
    await Promise.all(this.sides.map((side) => this.#send(side, request)))
  }

  /** Waits until both sides have started all jobs that they can start, and only `hold` spiders are running. */
  async settle(): Promise<void> {
    await Promise.all(
      this.sides.map((side) =>
        until(
          `${side.name} to come to rest`,
          () => this.jobs(side),
          ({ pending, running }) =>
            (pending.length === 0 || running.length === SLOTS) &&
            running.every((job) => existsSync(join(side.directory, 'reports', `${job.id}.held`))),
          JOB_LIMIT_MS
        )
      )
    )
  }

  async hold(project: string, jobid: string, spider = 'hold'): Promise<void> {
    await this.ask(post('schedule.json', { project, spider, jobid }))
    await this.untilHeld(jobid)
  }

  async untilHeld(jobid: string): Promise<void> {
    await this.untilReported(`${jobid}.held`)
  }

  async untilEnded(jobid: string): Promise<void> {
    await Promise.all(
      this.sides.map((side) =>
        until(
          `${jobid} to end on ${side.name}`,
          () => this.jobs(side),
          ({ pending, running }) => ![...pending, ...running].some(({ id }) => id === jobid),
          JOB_LIMIT_MS
        )
      )
    )
    await this.settle()
  }

  release(jobid: string): void {
    for (const side of this.sides) writeFileSync(join(side.directory, 'reports', `${jobid}.release`), '')
  }

  async untilReported(name: string): Promise<void> {
    await Promise.all(
      this.sides.map((side) =>
        until(
          `${name} of ${side.name}`,
          async () => existsSync(join(side.directory, 'reports', name)),
          (isThere) => isThere,
          JOB_LIMIT_MS
        )
      )
    )
  }

  report(side: Side, name: string): string {
    return readFileSync(join(side.directory, 'reports', name), 'utf8')
  }

  async jobs(side: Side): Promise<Record<'pending' | 'running' | 'finished', { id: string; project: string }[]>> {
    return JSON.parse((await this.#send(side, get('/listjobs.json'))).body.toString())
  }

  /** Ends the jobs of a scenario and deletes its projects, so they cannot affect the next one. */
  async cleanUp(): Promise<void> {
    for (const side of this.sides) {
      const { pending, running } = await this.jobs(side)
      for (const { id, project } of [...pending, ...running]) {
        // Cancels each job by its id, even if it is a `hold` spider.
        await this.#send(side, post('cancel.json', { project, job: id, signal: 'KILL' }))
      }
    }
    await Promise.all(
      this.sides.map((side) =>
        until(
          `the jobs of ${side.name} to end`,
          async () => {
            const jobs = await this.jobs(side)
            // Scrapyd can have started a job between the list and the cancel.
            for (const { id, project } of [...jobs.pending, ...jobs.running]) {
              await this.#send(side, post('cancel.json', { project, job: id, signal: 'KILL' }))
            }
            return jobs
          },
          ({ pending, running }) => pending.length + running.length === 0,
          JOB_LIMIT_MS
        )
      )
    )
    for (const side of this.sides) {
      const { projects } = JSON.parse((await this.#send(side, get('/listprojects.json'))).body.toString())
      for (const project of projects) await this.#send(side, post('delproject.json', { project }))
    }
  }

  async stop(): Promise<void> {
    const stopped = await Promise.allSettled([this.#scrapyd.stop(), this.#service.stop()])
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 5 })
    for (const result of stopped) if (result.status === 'rejected') throw result.reason
  }

  async describeOurs(): Promise<string> {
    const printed = this.#service.output().split('\n').slice(-15).join('\n')
    const jobs = await this.#service.client.jobs.list({ limit: 5 }).then((list) => JSON.stringify(list.jobs), String)
    return `Our service said at last:\n${printed}\nIts newest jobs: ${jobs}`
  }

  #send(side: Side, request: Request): Promise<Answer> {
    const headers = request.withoutCredentials ? request.headers : { authorization: AUTHORIZATION, ...request.headers }
    const sent = { ...request, ...(headers && { headers }) }
    if (process.env.DIFFERENTIAL_TRACE) {
      appendFileSync(
        process.env.DIFFERENTIAL_TRACE,
        `${side.name} ${request.method} ${request.path} ${request.body ?? ''}\n`
      )
    }
    return send(side.address, sent)
  }
}
