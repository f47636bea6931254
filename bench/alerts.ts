import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Alerts } from '../src/engine/monitoring/alerts/alerts.ts'
import { type Signal, NO_LABELS } from '../src/engine/monitoring/alerts/signal.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { systemRandom } from '../src/engine/runtime/random.ts'
import { openSqliteStore } from '../src/engine/storage/sqlite/open-sqlite-store.ts'
import type { AlertWrite } from '../src/engine/model/records.ts'
import type { Store } from '../src/engine/storage/store.ts'
import type { AlertWatch } from '../src/shared/alert-watches.ts'
import type { AlertNews, AlertRule } from '../src/shared/contract/index.ts'
import { aWebhookId, branded } from '../src/shared/testing/ids.ts'
import { type Figure, round } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { progress } from './support/sides.ts'

export const about =
  'alerts: CPU of 2,000 rules over 100,000 facts a minute, and how long it takes from a fact until its message is on disk'

export const run = (): AsyncIterable<Figure> =>
  measure({
    rules: 2_000,
    factsPerMinute: 100_000,
    spiders: 2_000,
    breaching: 0.002,
    warmMs: 10_000,
    measureMs: 60_000
  })

interface Load {
  rules: number
  factsPerMinute: number
  spiders: number
  breaching: number
  warmMs: number
  measureMs: number
}

const TICK_MS = 50
const CHANNELS = 10
const PROJECTS = 100
const WATCHES = ['spider_fails', 'spider_errors', 'spider_items', 'spider_unusual'] as const satisfies AlertWatch[]

/** Uses the real rules and store (in its own thread, every commit synced) but sends no messages. */
export async function* measure(load: Load): AsyncGenerator<Figure> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-alerts-'))
  try {
    const path = join(directory, 'scrapdeck.sqlite')
    const store = await openSqliteStore({
      path,
      clock: systemClock,
      logger: silentLogger,
      onDeath: () => undefined
    })
    await fill(store, load)
    const told = new ToldTimes()
    const alerts = new Alerts({
      store: told.watching(store),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      cordonedNodes: () => new Set()
    })
    await alerts.start()
    const idle = await shareOf({ ...load, measureMs: load.warmMs }, () => undefined)
    progress(`alerts: ${load.factsPerMinute} facts a minute for ${load.measureMs / 1_000} s`)
    const facts = new Facts(load, (fact, isNew) => {
      if (isNew) told.begins(fact)
      alerts.receive(fact)
    })
    await sleepWhile(load.warmMs, () => facts.tick())
    told.forget()
    const share = await shareOf(load, () => facts.tick())
    await alerts.stop()
    await store.close()
    if (told.delaysMs.length === 0) throw new Error('Nothing was told')
    const conditions = {
      rules: load.rules,
      facts_per_minute: load.factsPerMinute,
      facts: facts.count,
      told: told.delaysMs.length,
      breaching: load.breaching,
      idle_share: idle,
      synchronous: 'FULL',
      ...machine()
    }
    yield { figure: 'core_share', value: share, unit: 'cores', goal: { atMost: 0.1 }, conditions }
    const delays = [...told.delaysMs]
    yield { figure: 'told_p50_ms', value: round(percentile(delays, 0.5)), unit: 'ms', conditions }
    yield {
      figure: 'told_p99_ms',
      value: round(percentile(delays, 0.99)),
      unit: 'ms',
      goal: { atMost: 2_000 },
      conditions
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function ruleOf(index: number, { spiders }: Load): AlertRule {
  const spider = (index * 7) % spiders
  const isOfSpider = index % 4 > 0
  const isOfAll = index % 400 === 0
  return branded({
    id: index.toString(16).padStart(32, '0'),
    name: `rule ${index}`,
    enabled: true,
    owner: 'crawlers',
    watch: WATCHES[(index >> 2) % WATCHES.length]!,
    comparison: 'at_least',
    threshold: 1,
    forSeconds: 0,
    severity: 'warning',
    channels: [channelOf(index)],
    groupBy: 'each',
    gatherSeconds: 0,
    repeatSeconds: 14_400,
    escalation: { afterSeconds: 3_600, channels: [channelOf(index + 1)] },
    revision: 1,
    createdAtMs: index,
    project: isOfAll ? null : projectOf(spider),
    spider: isOfSpider ? `spider${spider}` : null,
    scheduleId: null,
    nodeId: null,
    nodeTag: null
  })
}

const channelOf = (index: number) => aWebhookId((index % CHANNELS).toString(16).padStart(32, 'c'))
const projectOf = (spider: number) => `project${spider % PROJECTS}`

async function fill(store: Store, load: Load): Promise<void> {
  for (let index = 0; index < CHANNELS; index += 1) {
    await store.putWebhook({
      id: channelOf(index),
      kind: 'channel',
      name: `channel ${index}`,
      url: '',
      events: [],
      project: null,
      enabled: true,
      createdAtMs: 1,
      sealedSecret: null,
      sealedOldSecret: null,
      oldSecretUntilMs: null,
      channel: { target: { kind: 'slack' }, quiet: null }
    })
  }
  progress(`alerts: ${load.rules} rules are written`)
  await Promise.all(Array.from({ length: load.rules }, (_, index) => store.putAlertRule(ruleOf(index, load))))
}

class Facts {
  count = 0
  readonly #load: Load
  readonly #onFact: (fact: Signal, isNew: boolean) => void
  readonly #startedMs = performance.now()
  readonly #breaching = new Set<number>()

  constructor(load: Load, onFact: (fact: Signal, isNew: boolean) => void) {
    this.#load = load
    this.#onFact = onFact
  }

  tick(): void {
    const due = ((performance.now() - this.#startedMs) / 60_000) * this.#load.factsPerMinute
    for (; this.count < due; this.count += 1) {
      const place = this.count % (this.#load.spiders * WATCHES.length)
      const isBreach = !this.#breaching.delete(place) && systemRandom.next() < this.#load.breaching
      if (isBreach) this.#breaching.add(place)
      this.#onFact(this.#factOf(place, isBreach ? 1 : 0), isBreach)
    }
  }

  #factOf(place: number, value: number): Signal {
    const spider = Math.floor(place / WATCHES.length)
    const key = `${projectOf(spider)}/spider${spider}`
    return branded({
      watch: WATCHES[place % WATCHES.length]!,
      key,
      value,
      sinceMs: systemClock.nowMs(),
      subject: key,
      text: `${key} has ${value}`,
      labels: { ...NO_LABELS, project: projectOf(spider), spider: `spider${spider}` }
    })
  }
}

/** Measures the time from a signal until the deliveries of its messages are on disk. */
class ToldTimes {
  delaysMs: number[] = []
  readonly #begunMs = new Map<string, number>()

  begins({ watch, key }: Signal): void {
    this.#begunMs.set(`${watch} ${key}`, performance.now())
  }

  forget(): void {
    this.delaysMs = []
  }

  watching(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        if (name !== 'writeAlerts') return Reflect.get(target, name)
        return async (write: AlertWrite) => {
          await target.writeAlerts(write)
          const nowMs = performance.now()
          for (const { data } of write.messages) {
            for (const { watch, subject } of (data as AlertNews).firing) {
              this.delaysMs.push(nowMs - this.#begunMs.get(`${watch} ${subject}`)!)
            }
          }
        }
      }
    })
  }
}

async function shareOf({ measureMs }: Load, tick: () => void): Promise<number> {
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  await sleepWhile(measureMs, tick)
  const { user, system } = process.cpuUsage(cpu)
  return round((user + system) / 1_000 / (performance.now() - startedMs))
}

async function sleepWhile(durationMs: number, tick: () => void): Promise<void> {
  const untilMs = performance.now() + durationMs
  while (performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    tick()
  }
}
