import type { AlertId } from '../../../../shared/contract/index.ts'
import { AlertBook, type AlertChanges, type AlertSetup } from '../alert-book.ts'
import type { AlertMemory } from '../../../model/records.ts'
import { type AlertMessage, type Episode, type Group, isFiring } from '../episodes.ts'
import { LIMIT_WINDOW_MS } from '../limits.ts'
import { FLAP_WINDOW_MS } from '../recent-ends.ts'
import { changed, signalOf, type Step, STORY_BEGINS_MS, thingOf, type StorySignal } from './alert-story.ts'
import { type PlainEpisode, type PlainMessage, PlainModel } from './plain-model.ts'

class KeptRows {
  readonly #episodes = new Map<string, string>()
  readonly #groups = new Map<string, string>()
  readonly #sent: AlertMemory['sent'] = []

  write({ episodes, forgotten, groups, endedGroups, messages }: AlertChanges): void {
    this.#sent.push(...messages.map(({ channelId, atMs }) => ({ channelId, atMs })))
    for (const one of episodes) this.#episodes.set(one.id, JSON.stringify(one))
    for (const id of forgotten) this.#episodes.delete(id)
    for (const one of groups) this.#groups.set(one.id, JSON.stringify(one))
    for (const id of endedGroups) this.#groups.delete(id)
  }

  read(nowMs: number): AlertMemory {
    const episodes = [...this.#episodes.values()].map((text) => JSON.parse(text) as Episode)
    const isKept = ({ state, channels, endedAtMs }: Episode) =>
      state !== 'resolved' || Object.keys(channels).length > 0 || endedAtMs! > nowMs - FLAP_WINDOW_MS
    return {
      episodes: episodes.filter(isKept),
      groups: [...this.#groups.values()].map((text) => JSON.parse(text) as Group),
      sent: this.#sent.filter(({ atMs }) => atMs > nowMs - LIMIT_WINDOW_MS)
    }
  }
}

export interface Lived {
  sent: (AlertMessage & { setup: AlertSetup })[]
  problem: string | null
}

/** Applies the same steps to a book and to the plain model, and compares all observable results. */
export function liveThrough(story: { setup: AlertSetup; steps: readonly Step[] }, Book = AlertBook): Lived {
  let count = 0
  const newId = () => String((count += 1)) as AlertId
  const rows = new KeptRows()
  const sent: Lived['sent'] = []
  const setups: [fromMs: number, setup: AlertSetup][] = []
  let nowMs = STORY_BEGINS_MS
  let { setup } = story
  let book = new Book(newId)
  book.restore(rows.read(nowMs), setup, nowMs)
  const model = new PlainModel(setup, nowMs)
  const end: Step[] = [
    { do: 'wait', ms: 0, isCalled: true },
    { do: 'wait', ms: 200_000_000, isCalled: true },
    ...Array.from({ length: 40 }, (): Step => ({ do: 'wait', ms: 18_000_000, isCalled: true })),
    { do: 'write' }
  ]
  for (const [at, step] of [...story.steps, ...end].entries()) {
    const problem = doStep(step) ?? differenceOf() ?? (isPassive(step) ? null : differenceOfHeld())
    setups.push([nowMs, setup])
    if (problem !== null) return { sent, problem: `after step ${at} (${step.do}), ${nowMs}: ${problem}` }
  }
  return { sent, problem: null }

  function doStep(step: Step): string | null {
    switch (step.do) {
      case 'receive':
        return receive(step.signal)
      case 'flap':
        for (let times = 0; times < 2 * step.times; times += 1) {
          receive({ of: step.of, value: times % 2 === 0 ? 2 : 0, sinceAgoMs: 600_000, isMoved: false })
          nowMs += step.everyMs
        }
        return null
      case 'receiveAll': {
        const all = step.signals.map((one) => signalOf(one, nowMs)).filter(({ watch }) => watch === step.watch)
        const signals = [...new Map(all.map((one) => [one.key, one])).values()]
        book.receiveAll(step.watch, signals, nowMs, new Set(step.unknown))
        model.receiveAll(step.watch, signals, nowMs, new Set(step.unknown))
        return null
      }
      case 'forget': {
        const { watch, key } = thingOf(step.of)
        book.forget(watch, key, nowMs)
        model.forget(watch, key, nowMs)
        return null
      }
      case 'acknowledge':
        return acknowledge(step.which, step.isTakenBack)
      case 'configure':
        setup = changed(setup, step.change, nowMs)
        book.configure(setup, nowMs)
        model.configure(setup, nowMs)
        return null
      case 'wait':
        nowMs += step.ms
        if (step.isCalled) {
          book.advance(nowMs)
          model.advance(nowMs)
        }
        return null
      case 'write':
        return write()
      case 'restart': {
        const problem = step.isWritten ? write() : null
        nowMs -= step.behindMs
        if (step.change !== null) setup = changed(setup, step.change, nowMs)
        // The old book still exists, but must not share any object with the new one.
        book = new Book(newId)
        book.restore(rows.read(nowMs), setup, nowMs)
        model.restart(setup, nowMs)
        return problem
      }
    }
  }

  function receive(given: StorySignal): null {
    const signal = signalOf(given, nowMs)
    book.receive(signal, nowMs)
    model.receive(signal, nowMs)
    return null
  }

  function acknowledge(which: number, isTakenBack: boolean): string | null {
    const firing = [...book.open()].filter((one) => isFiring(one) && (one.acknowledged !== null || !isTakenBack))
    const chosen = firing[which % Math.max(1, firing.length)]
    const ids = chosen === undefined ? [] : [chosen.id]
    const same = model.episodes.filter((one) => chosen !== undefined && nameOf(one) === nameOfBooks(chosen)).slice(-1)
    const counts = isTakenBack
      ? [book.unacknowledge(ids, nowMs), model.unacknowledge(same, nowMs)]
      : [book.acknowledge(ids, 'ada', nowMs), model.acknowledge(same, nowMs)]
    return counts[0] === counts[1] ? null : `acknowledged ${counts.join(', the model ')}`
  }

  function write(): string | null {
    const taken = book.take()
    const messages = taken.messages.map(messageOfBooks).sort()
    const expected = model.messages.map((one) => messageOfModels(model, one)).sort()
    rows.write(taken)
    model.keep()
    for (const one of taken.messages) {
      const [, then] = setups.findLast(([fromMs]) => fromMs <= one.atMs) ?? [0, setup]
      sent.push({ ...one, setup: then })
    }
    return same('messages', messages, expected)
  }

  function differenceOf(): string | null {
    const stateOf = (one: Episode) =>
      `${nameOfBooks(one)} ${one.state} since ${one.sinceMs} ${book.mutedBecause(one, nowMs)} ${one.acknowledged !== null}`
    const plainStateOf = (one: PlainEpisode) =>
      `${nameOf(one)} ${one.state} since ${one.sinceMs} ${model.muted(one, nowMs)} ${one.isAcknowledged}`
    const open = model.episodes.filter(({ state }) => state !== 'resolved' && state !== 'forgotten')
    return same('alerts', [...book.open()].map(stateOf).sort(), open.map(plainStateOf).sort())
  }

  function differenceOfHeld(): string | null {
    const held = [...book.held(nowMs)].map(([id, { messages, nextAtMs }]) => `${id}: ${messages} until ${nextAtMs}`)
    return same('held messages', held, model.held(nowMs))
  }
}

const isPassive = (step: Step): boolean =>
  step.do === 'write' || step.do === 'flap' || (step.do === 'wait' && !step.isCalled)

function same(what: string, book: string[], model: string[]): string | null {
  const missing = model.filter((one) => !book.includes(one))
  const added = book.filter((one) => !model.includes(one))
  if (missing.length + added.length === 0 && book.length === model.length) return null
  return `${what}\n  only the book: ${added.join('\n    ')}\n  only the model: ${missing.join('\n    ')}`
}

const nameOfBooks = ({ ruleId, watch, key, firedAtMs }: Episode) => `${ruleId} ${watch} ${key} ${firedAtMs}`
const nameOf = ({ rule, signal, firedAtMs }: PlainEpisode) => `${rule.id} ${signal.watch} ${signal.key} ${firedAtMs}`

function messageOfBooks({
  channelId,
  groupId,
  kind,
  atMs,
  firing,
  resolved,
  stillFiring,
  limit
}: AlertMessage): string {
  const names = [firing, resolved].map((list) => list.map(nameOfBooks).sort().join(', ')).join(' | ')
  return `${atMs} ${groupId} ${channelId} ${kind} ${names} + ${stillFiring} ${JSON.stringify(limit)}`
}

function messageOfModels(model: PlainModel, { channel, group, kind, atMs, ...message }: PlainMessage): string {
  const nameOfSerial = (serial: number) => nameOf(model.episodes.find((one) => one.serial === serial)!)
  const names = [message.firing, message.resolved].map((list) => list.map(nameOfSerial).sort().join(', ')).join(' | ')
  return `${atMs} ${group} ${channel} ${kind} ${names} + ${message.stillFiring} ${JSON.stringify(message.limit)}`
}
