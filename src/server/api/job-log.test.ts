import { createRouterClient, implement } from '@orpc/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EngineRouter } from '../../engine/api/router/router.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { OWNER } from '../../engine/access/principal.ts'
import { contract, type Attempt, type JobProgress, type LogChunk } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aJobId } from '../../shared/testing/ids.ts'
import { exampleOf } from '../../shared/examples/operations.ts'
import { listen } from '../listen.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { makeTestDirectory, openTestApp, RIGHT } from '../testing/test-app.ts'
import { openJobLog, parsePlace } from './job-log.ts'
import { API_EVENTS } from './serve-files.ts'

const JOB = '0'.repeat(32)
const RECORD = '2026-11-02 12:00:02 [shop] INFO: '

function aJobThatRuns() {
  const logs: string[] = []
  const state = { ended: false, outcome: null as JobProgress['outcome'], nodeIsGone: false, tails: 0 }
  const wake = new Set<() => void>()
  const fake = createFakeEngine()
  const os = implement(contract)
  const job = exampleOf('jobs.status')!.output as JobProgress
  const example = exampleOf('jobs.get')!.output as { job: never; attempts: Attempt[]; timeline: never[] }
  const piece = (number: number, offset: number): LogChunk => {
    const bytes = Buffer.from(logs[number - 1] ?? '')
    const complete = state.ended
    return {
      offset,
      nextOffset: bytes.length,
      sizeBytes: bytes.length,
      text: bytes.subarray(offset).toString(),
      complete
    }
  }
  const router = {
    ...fake.parts,
    jobs: {
      ...fake.parts.jobs,
      status: os.jobs.status.handler(({ input }) => {
        if (input.id !== JOB) throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${input.id}.`)
        return { ...job, status: state.outcome ?? 'running', outcome: state.outcome, reason: state.outcome }
      }),
      get: os.jobs.get.handler(() => ({
        ...example,
        attempts: logs.map((_log, index) => ({ ...example.attempts[0]!, number: index + 1 }))
      }))
    },
    logs: {
      read: os.logs.read.handler(({ input }) => piece(input.attemptNumber!, input.offset)),
      tail: os.logs.tail.handler(async function* ({ input, signal }) {
        state.tails += 1
        try {
          for (let offset = input.offset ?? 0; !signal!.aborted; ) {
            if (state.nodeIsGone) throw new ScrapdeckError('NODE_UNREACHABLE', 'eu-1 does not respond.')
            const chunk = piece(input.attemptNumber ?? logs.length, offset)
            if (chunk.nextOffset > offset || chunk.complete) yield chunk
            if (chunk.complete) return
            offset = chunk.nextOffset
            await new Promise<void>((resolve) => {
              wake.add(resolve)
              signal!.addEventListener('abort', () => resolve(), { once: true })
            })
          }
        } finally {
          state.tails -= 1
        }
      })
    }
  } as unknown as EngineRouter
  const engine = { ...fake, router: async () => router } as unknown as typeof fake
  return {
    engine,
    state,
    router,
    run(text: string) {
      logs.push(text)
      wakeAll()
    },
    write(text: string) {
      logs[logs.length - 1] += text
      wakeAll()
    },
    end(outcome: NonNullable<JobProgress['outcome']>) {
      Object.assign(state, { ended: true, outcome })
      wakeAll()
    },
    wakeAll
  }
  function wakeAll(): void {
    for (const resolve of wake) resolve()
    wake.clear()
  }
}

interface Sent {
  event: string
  id: string | undefined
  data: { message?: string; outcome?: string; code?: string }
}

function parse(text: string): Sent[] {
  return text.split('\n\n').flatMap((block) => {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const event = field('event')
    return event === undefined ? [] : [{ event, id: field('id'), data: JSON.parse(field('data')!) as Sent['data'] }]
  })
}

async function follow(job: ReturnType<typeof aJobThatRuns>, lastEventId?: string) {
  const clock = createFakeClock()
  const from = lastEventId === undefined ? { attemptNumber: null, offset: 0 } : parsePlace(lastEventId)
  const client = createRouterClient(job.router, { context: { principal: OWNER, source: 'api' } })
  const common = { client, events: API_EVENTS, clock, logger: silentLogger }
  const stream = openJobLog({ ...common, job: async () => aJobId(JOB), from })
  let text = ''
  stream.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  return { stream, clock, sent: () => parse(text), text: () => text }
}

const messages = (sent: Sent[]) => sent.map(({ event, data }) => data.message ?? data.outcome ?? event)

describe('the log of a job as events', () => {
  it('arrives line by line as it grows and ends with the outcome', async () => {
    const job = aJobThatRuns()
    job.run(`${RECORD}one\n`)
    const { sent, stream } = await follow(job)
    await expect.poll(() => messages(sent())).toEqual(['one'])
    job.write(`${RECORD}two\nmore of two\n`)
    await expect.poll(() => messages(sent())).toEqual(['one', 'two', 'more of two'])
    job.end('succeeded')
    await expect.poll(() => messages(sent())).toEqual(['one', 'two', 'more of two', 'succeeded'])
    expect(sent()[1]).toMatchObject({ event: 'log', data: { time: '2026-11-02T12:00:02', level: 'INFO' } })
    expect(sent().at(-1)).toMatchObject({ event: 'end', id: 'end' })
    await expect.poll(() => stream.readableEnded).toBe(true)
  })

  it('resumes after the last event that the client received', async () => {
    const job = aJobThatRuns()
    job.run(Array.from({ length: 20 }, (_, index) => `${RECORD}line ${index} é\n`).join(''))
    job.end('failed')
    const { sent: whole, stream } = await follow(job)
    await expect.poll(() => stream.readableEnded).toBe(true)
    for (const [index, { id }] of whole().slice(0, -1).entries()) {
      const resumed = await follow(job, id)
      await expect.poll(() => resumed.stream.readableEnded).toBe(true)
      expect(messages(resumed.sent())).toEqual(messages(whole().slice(index + 1)))
    }
  })

  it('continues with the next run of the job after the log of the previous run is complete', async () => {
    const job = aJobThatRuns()
    job.run(`${RECORD}first run\n`)
    const { sent, clock } = await follow(job)
    await expect.poll(() => messages(sent())).toEqual(['first run'])
    job.run(`${RECORD}second run\n`)
    await clock.advanceBy(15_000)
    await expect.poll(() => messages(sent())).toEqual(['first run', 'attempt', 'second run'])
    job.end('succeeded')
    await expect.poll(() => messages(sent()).at(-1)).toBe('succeeded')
    expect(sent().map(({ id }) => id?.split(':')[0])).toEqual(['1', '2', '2', 'end'])
  })

  it('sends keep-alives while nothing is written', async () => {
    const job = aJobThatRuns()
    job.run('')
    const { text, clock } = await follow(job)
    await clock.advanceBy(15_000)
    await expect.poll(text).toContain(': still here\n\n')
  })

  it('reports that its node stopped responding', async () => {
    const job = aJobThatRuns()
    job.run(`${RECORD}one\n`)
    const { sent, stream } = await follow(job)
    await expect.poll(() => messages(sent())).toEqual(['one'])
    job.state.nodeIsGone = true
    job.wakeAll()
    await expect.poll(() => stream.readableEnded).toBe(true)
    expect(sent().at(-1)).toMatchObject({ event: 'problem', id: undefined, data: { code: 'NODE_UNREACHABLE' } })
  })

  it('stops reading the log when the client disconnects', async () => {
    const job = aJobThatRuns()
    job.run('')
    const { stream } = await follow(job)
    await expect.poll(() => job.state.tails).toBe(1)
    stream.destroy()
    await expect.poll(() => job.state.tails).toBe(0)
  })

  it('over a real connection, comments keep it alive and lines arrive as they are written', async () => {
    const job = aJobThatRuns()
    job.run(`${RECORD}one\n`)
    const clock = createFakeClock()
    const service = await listen({
      engine: job.engine,
      dataDirectory: makeTestDirectory(),
      uiDirectory: makeTestDirectory(),
      docsDirectory: makeTestDirectory(),
      bindAddress: '127.0.0.1',
      port: 0,
      allowedHosts: [],
      clock,
      logger: silentLogger
    })
    onTestFinished(() => service.stop())
    const gone = new AbortController()
    const headers = { authorization: RIGHT }
    const response = await fetch(`${service.address}/api/v1/jobs/${JOB}/logs`, { headers, signal: gone.signal })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const readUntil = async (words: string) => {
      while (!text.includes(words)) text += (await reader.read()).value ?? ''
    }
    await readUntil('"message":"one"')
    await clock.advanceBy(15_000)
    await readUntil(': still here\n\n')
    job.end('succeeded')
    await readUntil('event: end\n')
    expect(messages(parse(text))).toEqual(['one', 'succeeded'])
    gone.abort()
  })

  it('over HTTP: an unknown job or position is rejected before streaming; 204 if already read to the end', async () => {
    const job = aJobThatRuns()
    job.run(`${RECORD}one\n`)
    job.end('succeeded')
    const { ask } = openTestApp({ engine: job.engine })
    const response = await ask({ url: `/api/v1/jobs/${JOB}/logs` })
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no'
    })
    expect(messages(parse(response.body))).toEqual(['one', 'succeeded'])
    const again = await ask({ url: `/api/v1/jobs/${JOB}/logs`, headers: { 'last-event-id': 'end' } })
    expect([again.statusCode, again.body]).toEqual([204, ''])
    const none = await ask({ url: `/api/v1/jobs/${'9'.repeat(32)}/logs` })
    expect([none.statusCode, none.json().code]).toEqual([404, 'JOB_NOT_FOUND'])
    const place = await ask({ url: `/api/v1/jobs/${JOB}/logs`, headers: { 'last-event-id': '1:x' } })
    expect([place.statusCode, place.json().code]).toEqual([400, 'BAD_INPUT'])
    expect((await ask({ url: '/api/v1/jobs/..%2Fx/logs' })).statusCode).toBe(400)
  })
})
