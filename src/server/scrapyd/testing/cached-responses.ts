import Fastify from 'fastify'
import { OWNER } from '../../../engine/access/principal.ts'
import { SharedAnswers } from '../../../engine/cluster/cache/shared-answers.ts'
import type { CachedAnswer, SharedCache } from '../../../engine/cluster/cache/shared-cache.ts'
import { askSharedStore, followOwnStore } from '../../../engine/cluster/cache/store-position.ts'
import { silentLogger } from '../../../engine/runtime/logger.ts'
import { ScrapydCommands, type ScrapydCommandsParts } from '../../../engine/api/scrapyd-commands/scrapyd-commands.ts'
import { createStory } from '../../../engine/storage/testing/story.ts'
import type { NewJob } from '../../../engine/model/records.ts'
import type { Store } from '../../../engine/storage/store.ts'
import { aNewJob, anAttemptStart } from '../../../engine/testing/builders.ts'
import { createFakeClock } from '../../../engine/testing/fake-clock.ts'
import { createSeededRandom } from '../../../engine/testing/seeded-random.ts'
import { openTemporaryStore } from '../../../engine/testing/temporary-store.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { scrapydEndpoints } from '../routes.ts'

type Answers = Pick<SharedCache, 'readAnswer' | 'writeAnswer' | 'isAway'>

const PROJECTS = ['shop', 'news'].map((name) => aProjectName(name))
const QUESTIONS = ['/daemonstatus.json', '/listjobs.json', ...PROJECTS.map((one) => `/listjobs.json?project=${one}`)]
const ENGINES = ['one', 'two'] as const
const READS = new Set(['listJobs', 'listLiveAttempts', 'listFinishedRuns', 'countByState', 'changeCursor'])

/**
 * Compares two engines that share a cache on one store with a third that caches nothing. Makes random changes, and
 * writes cache entries late, out of order or never. Returns the first difference while no change is in progress, or
 * null.
 */
export async function findWrongAnswer(
  seed: number,
  cache: Answers,
  { steps, spoil = (answers) => answers }: { steps: number; spoil?: (answers: Answers, store: Store) => Answers }
): Promise<string | null> {
  const random = createSeededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
  const clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  const { store } = temporary
  const story = createStory(async () => ({ store, reopen: async () => store, remove: async () => {} }))
  await story.open()
  const pause = async () => {
    for (let turns = Math.floor(random.next() * 4); turns > 0; turns -= 1) await new Promise(setImmediate)
  }
  const slow = slowReads(store, pause)
  const late = lateWrites(spoil(cache, store), pause)

  const openEngine = async (nodeName: string, seen: Store, hasCache: boolean, isOtherEngine: boolean) => {
    const position = isOtherEngine ? askSharedStore(seen) : followOwnStore(seen)
    await position.catchUp()
    const parts = { store: seen, clock, position, projects: { catalog: { requireProject() {} } } }
    const all = { ...parts, directories: { logs: null, items: null } } as unknown as ScrapydCommandsParts
    const scrapyd = hasCache ? new ScrapydCommands(all) : anewEachTime(all)
    const app = Fastify()
    app.decorateRequest('caller')
    app.addHook('onRequest', (request, _reply, done) => {
      request.caller = { kind: 'password', id: 'anna', principal: OWNER }
      done()
    })
    await app.register(scrapydEndpoints, {
      scrapyd,
      incoming: { begin: () => Promise.reject(new Error('no uploads')) },
      settings: { nodeName, finishedToKeep: 5 },
      logger: silentLogger,
      audit: { perform: () => Promise.reject(new Error('nothing is changed')) },
      shared: hasCache ? new SharedAnswers({ cache: late.cache, position }) : null,
      nowMs: () => clock.nowMs()
    })
    return async (url: string) => {
      const { body, statusCode } = await app.inject({ url })
      // If all engines returned the same error, their responses would be equal.
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${body}`)
      return body.replace(`"node_name": "${nodeName}"`, '"node_name": "…"')
    }
  }
  const engines = {
    one: await openEngine('one', slow, true, false),
    // This engine simulates another process, which does not receive the changes of the first.
    two: await openEngine('two', without(slow, 'onChange'), true, true)
  }
  const reference = await openEngine('plain', without(store, 'onChange'), false, true)
  const jobs: { job: NewJob; state: 'queued' | 'begun' | 'running' | 'ended' }[] = []
  const inState = (state: (typeof jobs)[number]['state']) => jobs.filter((one) => one.state === state)
  const asked: Promise<unknown>[] = []
  const changes = {
    async enqueue() {
      const job = aNewJob({ project: pick(PROJECTS) })
      jobs.push({ job, state: 'queued' })
      await store.enqueueJobs([job])
    },
    async begin() {
      const one = inState('queued')[0]
      if (one === undefined) return
      one.state = 'begun'
      const nodeId = random.next() < 0.1 ? LOCAL_NODE_ID : aNodeId('remote')
      await store.beginAttempts([anAttemptStart(one.job, { nodeId })])
    },
    async run() {
      const one = inState('begun')[0]
      if (one === undefined) return
      one.state = 'running'
      await store.applyChanges([story.change(one.job, { to: 'running', kind: 'running' })])
    },
    async end() {
      const one = inState('running')[0]
      if (one === undefined) return
      one.state = 'ended'
      await story.end(one.job)
    }
  }

  try {
    for (let step = 0; step < steps; step += 1) {
      await clock.advanceBy(Math.floor(random.next() * 50))
      if (random.next() < 0.5) asked.push(engines[pick(ENGINES)](pick(QUESTIONS)))
      const changing = pick(Object.values(changes))()
      if (random.next() < 0.3) asked.push(engines[pick(ENGINES)](pick(QUESTIONS)))
      await changing
      late.deliver(random.next())
      if (random.next() < 0.3) await Promise.all(asked.splice(0))
      const [engine, question] = [pick(ENGINES), pick(QUESTIONS)]
      const [given, expected] = [await engines[engine](question), await reference(question)]
      if (given !== expected) return `step ${step}, engine ${engine}, ${question}:\n${given}${expected}`
    }
    return null
  } finally {
    await Promise.all(asked)
    await temporary.remove()
  }
}

/** Creates new commands for each call, so that nothing stays in memory between calls. */
function anewEachTime(parts: ScrapydCommandsParts): ScrapydCommands {
  return new Proxy(new ScrapydCommands(parts), {
    get(_target, name: keyof ScrapydCommands) {
      const one = new ScrapydCommands(parts)
      const found = one[name]
      return typeof found === 'function' ? found.bind(one) : found
    }
  })
}

function slowReads(store: Store, pause: () => Promise<void>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const method = target[name] as (...values: unknown[]) => Promise<unknown>
      if (!READS.has(name)) return method
      return async (...values: unknown[]) => {
        await pause()
        const found = await method.apply(target, values)
        await pause()
        return found
      }
    }
  })
}

function without(store: Store, name: keyof Store): Store {
  return new Proxy(store, { get: (target, asked: keyof Store) => (asked === name ? () => () => {} : target[asked]) })
}

/** Holds back cache entries until `deliver`, which writes them late, in another order, or not at all. */
function lateWrites(cache: Answers, pause: () => Promise<void>) {
  const waiting: { key: string; answer: CachedAnswer }[] = []
  return {
    cache: {
      isAway: false,
      async readAnswer(key: string) {
        await pause()
        const found = await cache.readAnswer(key)
        await pause()
        return found
      },
      async writeAnswer(key: string, answer: CachedAnswer) {
        waiting.push({ key, answer })
        return true
      }
    },
    deliver(chance: number) {
      if (chance < 0.1) waiting.shift()
      if (chance > 0.3) for (const { key, answer } of waiting.splice(0).reverse()) void cache.writeAnswer(key, answer)
    }
  }
}
