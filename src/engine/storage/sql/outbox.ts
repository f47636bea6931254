import type { Database } from './database.ts'
import type { Fragments } from './fragments.ts'
import { eventBody, isAbout, type JobEvent, jobEventData } from '../../model/events.ts'
import type {
  DeliveryTry,
  NewEvent,
  NewWebhook,
  Retention,
  StoredDelivery,
  StoredWebhook
} from '../../model/records.ts'
import { JOB, type JobRow, type NamedRow, toJob } from './rows.ts'
import { createTable } from './table.ts'
import type { ProjectName, WebhookId } from '../../../shared/contract/index.ts'

/**
 * The maximum number of waiting events per webhook. Further events are dropped and counted, so that a dead receiver
 * cannot fill the disk.
 */
export const WAITING_MAX = 100_000
const TIMES_AT_ONCE = 250

const DELIVERY = `sequence, webhook_id AS "webhookId", event, body, state, tries, made_at_ms AS "madeAtMs",
  next_try_at_ms AS "nextTryAtMs", ended_at_ms AS "endedAtMs", answer`

export const outboxSql = (sql: Fragments) => ({
  due: `SELECT ${DELIVERY} FROM deliveries WHERE webhook_id = ? AND state = 'waiting' AND next_try_at_ms <= ?
    ORDER BY next_try_at_ms, sequence LIMIT ?`,
  nextDue: `SELECT min(next_try_at_ms) FROM deliveries WHERE webhook_id = ? AND state = 'waiting' AND next_try_at_ms > ?`,
  page: `SELECT ${DELIVERY} FROM deliveries WHERE webhook_id = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
  pageAfter: `SELECT ${DELIVERY} FROM deliveries WHERE webhook_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
  times: `SELECT sequence, event, made_at_ms AS "madeAtMs" FROM deliveries WHERE webhook_id = ? AND sequence < ?
    ORDER BY sequence DESC LIMIT ?`,
  pageOfState: `SELECT ${DELIVERY} FROM deliveries WHERE webhook_id = ? AND state = ? AND sequence < ?
    ORDER BY sequence DESC LIMIT ?`,
  prune: `DELETE FROM deliveries WHERE sequence ${sql.oneOf(`SELECT sequence FROM deliveries
    WHERE state = ? AND ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?`)} RETURNING webhook_id`,
  pruneOf: `DELETE FROM deliveries WHERE sequence ${sql.oneOf(`SELECT sequence FROM deliveries
    WHERE webhook_id = ? AND state = ? ORDER BY sequence LIMIT ?`)}`
})

type WebhookRow = NamedRow<StoredWebhook, 'events' | 'channel'>
type EnabledRow = Pick<WebhookRow, 'id' | 'events' | 'project' | 'waiting'>

interface DeliveryRow extends Omit<StoredDelivery, 'id'> {
  sequence: number
}

interface Counts extends Pick<WebhookRow, 'waiting' | 'dead' | 'dropped'> {
  delivered: number
}

type Wanting = Map<string, { id: string; project: ProjectName | null; room: number }[]>

export type Outbox = ReturnType<typeof createOutbox>

/**
 * Events for subscribers. Events are written in the transaction in which they happen, so that no event is false or
 * lost. Node events are the exception, because node states are not stored. A write with events reads the subscriptions
 * once. `flush` and `discard` end the write, as in counters.ts.
 *
 *   waiting --delivered--> delivered
 *   waiting --no response, not 2xx--> waiting (later) ... --> dead --replayed--> waiting
 */
export function createOutbox(database: Database) {
  const statements = outboxSql(database.fragments)
  const webhooks = createTable<StoredWebhook>(database, {
    name: 'webhooks',
    order: 'name, id',
    fields: `id kind name url events:json project enabled:flag createdAtMs sealedSecret sealedOldSecret oldSecretUntilMs
      lastDeliveredAtMs problem waiting dead dropped channel:json`
  })
  const keptOf = database.prepare<[], { id: string; delivered: number; dead: number }>(
    'SELECT id, delivered, dead FROM webhooks ORDER BY name, id'
  )
  const enabled = database.prepare<[], EnabledRow>(
    'SELECT id, events, project, waiting FROM webhooks WHERE enabled = 1 ORDER BY id'
  )
  const put = database.prepare(`INSERT INTO webhooks
      (id, kind, name, url, events, project, enabled, created_at_ms, sealed_secret, sealed_old_secret, old_secret_until_ms,
       channel)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, url = excluded.url, events = excluded.events,
      project = excluded.project, enabled = excluded.enabled, sealed_secret = excluded.sealed_secret,
      sealed_old_secret = excluded.sealed_old_secret, old_secret_until_ms = excluded.old_secret_until_ms,
      channel = excluded.channel`)
  const job = database.prepare<[string], JobRow>(`SELECT ${JOB} FROM jobs WHERE id = ?`).raw()
  const insert = database.prepare<[string, string, string, number, number]>(
    `INSERT INTO deliveries (webhook_id, event, body, state, tries, made_at_ms, next_try_at_ms)
     VALUES (?, ?, ?, 'waiting', 0, ?, ?)`
  )
  const count = database.prepare<Counts & { id: string }>(
    `UPDATE webhooks SET waiting = waiting + :waiting, delivered = delivered + :delivered, dead = dead + :dead,
       dropped = dropped + :dropped WHERE id = :id`
  )
  const due = database.prepare<[string, number, number], DeliveryRow>(statements.due)
  const nextDue = database.prepare<[string, number], number | null>(statements.nextDue).pluck()
  const page = database.prepare<[string, number, number], DeliveryRow>(statements.page)
  const pageAfter = database.prepare<[string, number, number], DeliveryRow>(statements.pageAfter)
  const times = database.prepare<[string, number, number], Pick<DeliveryRow, 'sequence' | 'event' | 'madeAtMs'>>(
    statements.times
  )
  const pageOfState = database.prepare<[string, string, number, number], DeliveryRow>(statements.pageOfState)
  const one = database.prepare<[number], DeliveryRow>(`SELECT ${DELIVERY} FROM deliveries WHERE sequence = ?`)
  const conclude = database.prepare(
    `UPDATE deliveries SET state = ?, tries = ?, next_try_at_ms = ?, ended_at_ms = ?, answer = ? WHERE sequence = ?`
  )
  const setDelivered = database.prepare<[number, string]>(
    'UPDATE webhooks SET last_delivered_at_ms = ?, problem = NULL, dropped = 0 WHERE id = ?'
  )
  const setProblem = database.prepare<[string | null, string]>('UPDATE webhooks SET problem = ? WHERE id = ?')
  const turnOff = database.prepare<[string]>('UPDATE webhooks SET enabled = 0 WHERE id = ?')
  const allDead = database
    .prepare<[string], number>("SELECT sequence FROM deliveries WHERE webhook_id = ? AND state = 'dead'")
    .pluck()
  const prune = database.prepare<[string, number, number], string>(statements.prune).pluck()
  const pruneOf = database.prepare<[string, string, number]>(statements.pruneOf)
  let wanting: Wanting | null = null
  let asked: (() => EnabledRow[]) | null = null
  let isSilent = false
  const counts = new Map<string, Counts>()

  function whoWants(event: string) {
    if (wanting === null) {
      wanting = new Map()
      for (const { id, events, project, waiting } of asked?.() ?? enabled.all()) {
        const subscriber = { id, project, room: WAITING_MAX - waiting }
        for (const name of JSON.parse(events) as string[]) {
          const others = wanting.get(name)
          if (others === undefined) wanting.set(name, [subscriber])
          else others.push(subscriber)
        }
      }
    }
    return wanting.get(event)
  }

  function countFor(id: string) {
    const known = counts.get(id)
    if (known !== undefined) return known
    const fresh = { waiting: 0, delivered: 0, dead: 0, dropped: 0 }
    counts.set(id, fresh)
    return fresh
  }

  /** `projects`: the affected projects. Calls `data` only if there is a subscriber. */
  function record(event: string, projects: readonly string[], atMs: number, data: () => unknown): void {
    const subscribers = isSilent ? undefined : whoWants(event)
    if (subscribers === undefined) return
    let body: string | null = null
    for (const subscriber of subscribers) {
      if (!isAbout(projects, subscriber.project)) continue
      if (subscriber.room <= 0) {
        countFor(subscriber.id).dropped += 1
        continue
      }
      subscriber.room -= 1
      body ??= eventBody(event, atMs, data())
      insert.run(subscriber.id, event, body, atMs, atMs)
      countFor(subscriber.id).waiting += 1
    }
  }

  /** Queues the event for one subscriber. If its queue is full, only counts the event as dropped. */
  function tell(id: string, event: string, atMs: number, data: unknown): void {
    const subscriber = enabled.all().find((each) => each.id === id)
    if (subscriber === undefined) return
    const counted = countFor(id)
    if (subscriber.waiting + counted.waiting >= WAITING_MAX) counted.dropped += 1
    else {
      insert.run(id, event, eventBody(event, atMs, data), atMs, atMs)
      counted.waiting += 1
    }
  }

  function recordTry({ id, state, atMs, nextTryAtMs, answer, isGone }: DeliveryTry): void {
    const before = one.get(sequenceOf(id) ?? -1)
    // The webhook was deleted in the meantime, or the delivery has already ended.
    if (before === undefined || before.state !== 'waiting') return
    const endedAtMs = state === 'waiting' ? null : atMs
    conclude.run(state, before.tries + 1, nextTryAtMs, endedAtMs, answer, before.sequence)
    if (state === 'delivered') setDelivered.run(atMs, before.webhookId)
    else setProblem.run(answer, before.webhookId)
    if (isGone === true) turnOff.run(before.webhookId)
    if (state === 'waiting') return
    const counted = countFor(before.webhookId)
    counted.waiting -= 1
    counted[state] += 1
  }

  function forgetWanting(): void {
    wanting = null
    asked = null
  }

  return {
    record,
    tell,
    readAhead(): void {
      if (wanting === null) asked ??= enabled.aheadAll()
    },
    isWanted: (event: string): boolean => !isSilent && whoWants(event) !== undefined,

    recordEvents(events: NewEvent[]): void {
      for (const { event, project, atMs, data } of events)
        record(event, project === null ? [] : [project], atMs, () => data)
    },

    recordJob(event: JobEvent, id: string, atMs: number): void {
      if (isSilent || whoWants(event) === undefined) return
      const row = job.get(id)
      if (row === undefined) return
      const found = toJob(row)
      record(event, [found.project], atMs, () => jobEventData(found))
    },

    /** Runs `work` without recording events, because imported history is not news. */
    silently<T>(work: () => T): T {
      isSilent = true
      try {
        return work()
      } finally {
        isSilent = false
      }
    },

    flush(): void {
      for (const [id, counted] of counts) count.run({ id, ...counted })
      counts.clear()
      forgetWanting()
    },

    discard(): void {
      counts.clear()
      forgetWanting()
    },

    listWebhooks: (): StoredWebhook[] =>
      webhooks.all().map((row) => ({ ...row, kind: row.channel == null ? row.kind : ('channel' as const) })),

    putWebhook(webhook: NewWebhook): void {
      const { id, name, url, events, project, createdAtMs, sealedSecret, sealedOldSecret } = webhook
      const settings = [name, url, JSON.stringify(events), project, webhook.enabled ? 1 : 0]
      // The table has only two kinds: a channel is stored as a webhook with a target.
      const kind = webhook.kind === 'channel' ? 'webhook' : webhook.kind
      put.run(
        id,
        kind,
        ...settings,
        createdAtMs,
        sealedSecret,
        sealedOldSecret,
        webhook.oldSecretUntilMs,
        webhook.channel ? JSON.stringify(webhook.channel) : null
      )
      forgetWanting()
    },

    deleteWebhook(id: string): boolean {
      forgetWanting()
      return webhooks.remove(id)
    },

    listDueDeliveries(nowMs: number, limitEach: number): { deliveries: StoredDelivery[]; nextDueMs: number | null } {
      const deliveries: StoredDelivery[] = []
      let nextDueMs: number | null = null
      for (const { id } of enabled.all()) {
        for (const row of due.all(id, nowMs, limitEach)) deliveries.push(toDelivery(row))
        const nextMs = nextDue.get(id, nowMs) ?? null
        if (nextMs !== null && (nextDueMs === null || nextMs < nextDueMs)) nextDueMs = nextMs
      }
      return { deliveries, nextDueMs }
    },

    /**
     * The times when events of this type were sent to channels after `sinceMs`, newest first, at most `most` per
     * channel.
     */
    sentTimes(event: string, sinceMs: number, most: number): { id: WebhookId; atMs: number }[] {
      const channels = webhooks.all().filter(({ channel }) => channel != null)
      return channels.flatMap(({ id }) => {
        const found: { id: WebhookId; atMs: number }[] = []
        let below = Number.MAX_SAFE_INTEGER
        for (;;) {
          const rows = times.all(id, below, TIMES_AT_ONCE)
          const fresh = rows.filter(({ madeAtMs }) => madeAtMs > sinceMs)
          for (const row of fresh) if (row.event === event) found.push({ id, atMs: row.madeAtMs })
          if (fresh.length < TIMES_AT_ONCE || found.length >= most) return found.slice(0, most)
          below = rows.at(-1)!.sequence
        }
      })
    },

    concludeTries: (tries: DeliveryTry[]): void => tries.forEach(recordTry),

    listDeliveries(
      webhookId: WebhookId,
      { state, before, limit }: { state?: StoredDelivery['state'] | undefined; before: string | null; limit: number }
    ): StoredDelivery[] {
      const below = before === null ? Number.MAX_SAFE_INTEGER : (sequenceOf(before) ?? 0)
      const rows =
        state === undefined ? page.all(webhookId, below, limit) : pageOfState.all(webhookId, state, below, limit)
      return rows.map(toDelivery)
    },

    findNewestDelivery(webhookIds: readonly WebhookId[]): string | null {
      const newest = webhookIds
        .flatMap((id) => page.all(id, Number.MAX_SAFE_INTEGER, 1))
        .toSorted(bySequence)
        .at(-1)
      return newest === undefined ? null : toDelivery(newest).id
    },

    listDeliveriesAfter(webhookIds: readonly WebhookId[], after: string | null, limit: number): StoredDelivery[] {
      const above = after === null ? 0 : (sequenceOf(after) ?? 0)
      return webhookIds
        .flatMap((id) => pageAfter.all(id, above, limit))
        .toSorted(bySequence)
        .slice(0, limit)
        .map(toDelivery)
    },

    replayDeliveries(webhookId: WebhookId, ids: string[], nowMs: number): number {
      const sequences = ids.length === 0 ? allDead.all(webhookId) : ids.map((id) => sequenceOf(id) ?? -1)
      const counted = countFor(webhookId)
      let replayed = 0
      for (const sequence of new Set(sequences)) {
        const before = one.get(sequence)
        if (before === undefined || before.webhookId !== webhookId || before.state === 'waiting') continue
        conclude.run('waiting', 0, nowMs, null, before.answer, sequence)
        counted.waiting += 1
        counted[before.state as 'delivered' | 'dead'] -= 1
        replayed += 1
      }
      return replayed
    },

    prune({ deliveredSinceMs, deadSinceMs, newest }: Retention['deliveries'], limit: number): number {
      let left = limit
      for (const [state, sinceMs] of [['delivered', deliveredSinceMs] as const, ['dead', deadSinceMs] as const]) {
        const pruned = prune.all(state, sinceMs, left)
        for (const id of pruned) countFor(id)[state] -= 1
        left -= pruned.length
        for (const row of keptOf.all()) {
          const counted = countFor(row.id)
          const excess = Math.min(left, row[state] + counted[state] - newest)
          if (excess <= 0) continue
          const { changes } = pruneOf.run(row.id, state, excess)
          counted[state] -= changes
          left -= changes
        }
      }
      return limit - left
    }
  }
}

const bySequence = (one: DeliveryRow, other: DeliveryRow): number => one.sequence - other.sequence

function toDelivery({ sequence, ...row }: DeliveryRow): StoredDelivery {
  return {
    ...row,
    id: idOf(sequence, row.madeAtMs),
    nextTryAtMs: row.state === 'waiting' ? row.nextTryAtMs : null
  }
}

/** Receivers deduplicate by id. The time distinguishes the id from ids issued before a backup was restored. */
function idOf(sequence: number, madeAtMs: number): string {
  return `msg_${madeAtMs.toString(36)}_${sequence.toString(36)}`
}

function sequenceOf(id: string): number | null {
  const match = /^msg_[0-9a-z]{1,12}_([0-9a-z]{1,10})$/.exec(id)
  return match === null ? null : Number.parseInt(match[1]!, 36)
}
