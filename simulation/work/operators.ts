import type { LimitRule, RunItem } from '../../src/shared/contract/index.ts'
import { aJobId, aNodeId, aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import type { Chance } from '../world/chance.ts'
import type { Life } from '../world/life.ts'
import type { Client, Door, World } from '../world/machine.ts'
import type { VirtualTime } from '../world/time.ts'
import { SPIDERS } from '../scrapyd/http.ts'
import type { Operation } from './history.ts'
import type { Scenario } from './scenario.ts'

type Act = (client: Client) => Promise<unknown>

const ASKS_AGAIN_AFTER_MS = 500
const PROJECTS = Object.keys(SPIDERS)

/**
 * The people and programs that use the engine, only through its contract. If the engine died, a command's result is
 * `unknown`, because the engine may or may not have executed it.
 */
export class Operators {
  readonly operations: Operation[] = []
  readonly #scenario: Scenario
  readonly #time: VirtualTime
  readonly #machine: World
  readonly #chance: Chance
  readonly #jobIds: string[] = []
  #pending = 0

  constructor(parts: { scenario: Scenario; time: VirtualTime; machine: World; chance: Chance }) {
    this.#scenario = parts.scenario
    this.#time = parts.time
    this.#machine = parts.machine
    this.#chance = parts.chance
  }

  /** The number of commands without a response that were sent to an engine that is still alive. */
  get pending(): number {
    return this.#pending
  }

  begin(): void {
    this.#time.after(this.#chance.between(0, this.#scenario.operationEveryMs * 2), () => {
      if (this.#time.nowMs > this.#scenario.activeMs) return
      void this.#actSomehow()
      this.begin()
    })
  }

  async liftEverything(): Promise<void> {
    const nodes = await this.#do('nodes.list', {}, (client) => client.nodes.list())
    const list = (nodes as Awaited<ReturnType<Client['nodes']['list']>> | null)?.nodes ?? []
    for (const { id, mode } of list) {
      if (mode !== 'active')
        await this.#do('nodes.setMode', { id }, (client) => client.nodes.setMode({ id, mode: 'active' }))
    }
    for (const { name, tags, slots } of this.#scenario.nodes) {
      const url = `http://${name}:6800/`
      if (list.some((node) => node.url === url)) continue
      await this.#do('nodes.add', { url }, (client) => client.nodes.add({ url, tags, slots }))
    }
    await this.#do('system.setPaused', { paused: false }, (client) => client.system.setPaused({ paused: false }))
    for (const project of PROJECTS) {
      await this.#do('projects.setPaused', { project }, (client) =>
        client.projects.setPaused({ project, paused: false })
      )
    }
    await this.#do('queue.setLimits', { limits: [] }, (client) => client.queue.setLimits({ limits: [] }))
  }

  async #do(name: string, input: unknown, act: Act): Promise<unknown> {
    const door = this.#machine.door() ?? (await this.#doorAgain())
    if (door === null) return null
    const { life, client } = door
    const operation: Operation = {
      name,
      input,
      invokedAtMs: this.#time.nowMs,
      answeredAtMs: null,
      result: 'unknown',
      output: null,
      error: null
    }
    this.operations.push(operation)
    const answer = (result: 'ok' | 'fail', output: unknown, error: string | null) => {
      if (life.isOver) return
      Object.assign(operation, { result, output, error, answeredAtMs: this.#time.nowMs })
    }
    this.#pending += 1
    let isPending = true
    const isOver = () => {
      if (isPending) this.#pending -= 1
      isPending = false
    }
    life.whenOver(isOver)
    try {
      // A stalled engine accepts the connection and responds when it continues.
      const output = await (life.isStalled ? awake(life).then(() => act(client)) : act(client))
      answer('ok', output, null)
      return output
    } catch (error) {
      if (isUnsure(error)) return null
      answer(
        'fail',
        null,
        error instanceof Error ? `${String((error as { code?: string }).code ?? '')} ${error.message}` : String(error)
      )
      return null
    } finally {
      if (!life.isOver) isOver()
    }
  }

  /** Tries again to find a leader. If none of several engines leads, a client immediately gets NO_LEADER. */
  async #doorAgain(): Promise<Door | null> {
    let door: Door | null = null
    for (let left = this.#machine.triesAgain; door === null && left > 0; left -= 1) {
      await new Promise<void>((resolve) => void this.#time.after(ASKS_AGAIN_AFTER_MS, resolve))
      door = this.#machine.door()
    }
    return door
  }

  #actSomehow(): Promise<unknown> {
    const chance = this.#chance
    const plain: [number, () => Promise<unknown>][] = [
      [30, () => this.#run()],
      [8, () => this.#runMany()],
      [8, () => this.#cancel()],
      [4, () => this.#runAndRegret()]
    ]
    const rich: [number, () => Promise<unknown>][] = [
      [3, () => this.#onJobs('jobs.restore', {}, (client, input) => client.jobs.restore(input))],
      [2, () => this.#again()],
      [2, () => this.#setPriority()],
      [2, () => this.#reorder()],
      [2, () => this.#place()],
      [2, () => this.#onJobs('jobs.runElsewhere', {}, (client, input) => client.jobs.runElsewhere(input))],
      [1, () => this.#pause()],
      [2, () => this.#pauseProject()],
      [2, () => this.#setMode()],
      [1, () => this.#changeNode()],
      [1, () => this.#removeNode()],
      [1, () => this.#addNode()],
      [2, () => this.#limit()],
      [2, () => this.#configure()],
      [1, () => this.#jobsOfStrangers()]
    ]
    const acts = this.#scenario.isRich ? [...plain, ...rich] : plain
    let left = chance.next() * acts.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, act] of acts) if ((left -= weight) < 0) return act()
    return acts[0]![1]()
  }

  #someIds(): string[] {
    const count = this.#chance.pick([1, 1, 2, 5])
    // Picks mostly recent jobs, because older ones have ended.
    const recent = this.#jobIds.slice(-12)
    return recent.length === 0 ? [] : [...new Set(Array.from({ length: count }, () => this.#chance.pick(recent)))]
  }

  #anItem(): RunItem {
    const chance = this.#chance
    const project = chance.pick(PROJECTS)
    const args: Record<string, string> = { runMs: String(chance.pick([500, 2_000, 4_000, 8_000, 20_000])) }
    const end = chance.pick(['finished', 'finished', 'finished', 'error', 'crash'])
    if (end !== 'finished') args['end'] = end
    if (chance.happens(0.1)) args['stubborn'] = 'yes'
    if (chance.happens(0.1)) args['quiet'] = 'yes'
    const item: RunItem = { project: aProjectName(project), spider: chance.pick(SPIDERS[project]!), args }
    if (!this.#scenario.isRich) return item
    if (chance.happens(0.2)) item.priority = chance.between(-2, 5)
    if (chance.happens(0.2)) item.version = aVersionName(chance.pick(['1', '2']))
    if (chance.happens(0.1)) item.tags = [chance.pick(['eu', '!eu', 'eu|us', 'fast'])]
    if (chance.happens(0.05)) item.nodeId = aNodeId(chance.pick(this.#scenario.nodes).name)
    if (chance.happens(0.3)) {
      item.retry = {
        attempts: chance.between(1, 4),
        backoffSeconds: chance.between(0, 20),
        backoffFactor: 2,
        backoffMaxSeconds: 60,
        on: chance.pick([['failed', 'lost'], ['failed'], ['lost']])
      }
    }
    if (chance.happens(0.1)) item.limits = { wallSeconds: chance.pick([3, 6]) }
    const wallMs = this.#machine.wallMs()
    if (chance.happens(0.1)) item.notBeforeMs = Math.floor(wallMs) + chance.between(0, 40_000)
    if (chance.happens(0.1)) item.expiresAtMs = Math.floor(wallMs) + chance.between(1_000, 60_000)
    if (chance.happens(0.2)) {
      item.noOverlap = true
      // Uses few different arguments, so keys collide.
      item.args = { runMs: chance.pick(['4000', '8000']) }
    }
    if (chance.happens(0.15) && this.#jobIds.length > 0) {
      item.after = [
        {
          jobId: aJobId(chance.pick(this.#jobIds.slice(-6))),
          on: chance.pick(['succeeded', 'failed', 'ended', 'ended'] as const)
        }
      ]
    }
    if (chance.happens(0.1)) item.dedupe = { key: chance.pick(['a', 'b', 'c']), ttlSeconds: chance.between(1, 60) }
    return item
  }

  async #run(): Promise<void> {
    const { spider, ...rest } = this.#anItem()
    const input = { ...rest, spiders: this.#chance.happens(0.2) ? SPIDERS[rest.project]! : [spider] }
    const output = await this.#do('jobs.run', input, (client) => client.jobs.run(input))
    for (const { id } of (output as { jobs: { id: string }[] } | null)?.jobs ?? []) this.#jobIds.push(id)
  }

  async #runMany(): Promise<void> {
    const jobs = Array.from({ length: this.#chance.between(2, 6) }, () => this.#anItem())
    const output = await this.#do('jobs.runMany', { jobs }, (client) => client.jobs.runMany({ jobs }))
    this.#jobIds.push(...((output as { ids: string[] } | null)?.ids ?? []))
  }

  async #runAndRegret(): Promise<void> {
    const before = this.#jobIds.length
    await this.#runMany()
    const ids = this.#jobIds.slice(before)
    if (ids.length > 0) await this.#do('jobs.cancel', { ids }, (client) => client.jobs.cancel({ ids, force: false }))
  }

  #cancel(): Promise<unknown> {
    const force = this.#chance.happens(0.3)
    return this.#onJobs('jobs.cancel', { force }, (client, input) => client.jobs.cancel(input))
  }

  async #again(): Promise<void> {
    const output = await this.#onJobs('jobs.retry', {}, (client, input) => client.jobs.retry(input))
    for (const { id } of (output as { jobs: { id: string }[] } | null)?.jobs ?? []) this.#jobIds.push(id)
  }

  #setPriority(): Promise<unknown> {
    const priority = this.#chance.between(-2, 5)
    return this.#onJobs('jobs.setPriority', { priority }, (client, input) => client.jobs.setPriority(input))
  }

  async #onJobs<More extends object>(
    name: string,
    more: More,
    act: (client: Client, input: More & { ids: string[] }) => Promise<unknown>
  ): Promise<unknown> {
    const ids = this.#someIds()
    const input = { ...more, ids }
    return ids.length === 0 ? null : this.#do(name, input, (client) => act(client, input))
  }

  #reorder(): Promise<unknown> {
    const before = this.#someIds()[0]
    const to =
      before !== undefined && this.#chance.happens(0.4) ? { before } : this.#chance.pick(['front', 'back'] as const)
    return this.#onJobs('jobs.reorder', { to }, (client, input) => client.jobs.reorder(input))
  }

  #place(): Promise<unknown> {
    const placement = { nodeId: null, tags: this.#chance.pick([[], ['eu'], ['eu|us']]) }
    return this.#onJobs('jobs.place', placement, (client, input) => client.jobs.place(input))
  }

  #pause(): Promise<unknown> {
    this.#time.after(this.#chance.between(1_000, 20_000), () => {
      void this.#do('system.setPaused', { paused: false }, (client) => client.system.setPaused({ paused: false }))
    })
    return this.#do('system.setPaused', { paused: true }, (client) => client.system.setPaused({ paused: true }))
  }

  #pauseProject(): Promise<unknown> {
    const project = this.#chance.pick(PROJECTS)
    const paused = this.#chance.happens(0.5)
    return this.#do('projects.setPaused', { project, paused }, (client) =>
      client.projects.setPaused({ project, paused })
    )
  }

  async #someNode(): Promise<string | null> {
    const answer = await this.#do('nodes.list', {}, (client) => client.nodes.list())
    const nodes = (answer as { nodes: { id: string }[] } | null)?.nodes ?? []
    return nodes.length === 0 ? null : this.#chance.pick(nodes).id
  }

  async #setMode(): Promise<void> {
    const id = await this.#someNode()
    const mode = this.#chance.pick(['active', 'active', 'cordoned', 'draining'] as const)
    if (id !== null) await this.#do('nodes.setMode', { id, mode }, (client) => client.nodes.setMode({ id, mode }))
  }

  async #changeNode(): Promise<void> {
    const id = await this.#someNode()
    const input = { slots: this.#chance.between(1, 4), queueAhead: this.#chance.pick([0, 1]) }
    if (id !== null) await this.#do('nodes.update', { id, ...input }, (client) => client.nodes.update({ id, ...input }))
  }

  async #removeNode(): Promise<void> {
    const id = await this.#someNode()
    const force = this.#chance.happens(0.5)
    if (id !== null) await this.#do('nodes.remove', { id, force }, (client) => client.nodes.remove({ id, force }))
  }

  #addNode(): Promise<unknown> {
    const { name, slots, tags } = this.#chance.pick(this.#scenario.nodes)
    const input = { url: `http://${name}:6800/`, slots, tags }
    return this.#do('nodes.add', input, (client) => client.nodes.add(input))
  }

  #limit(): Promise<unknown> {
    const chance = this.#chance
    const limits: LimitRule[] = Array.from({ length: chance.between(0, 2) }, () => ({
      id: chance.hex(4),
      project: chance.pick([null, ...PROJECTS.map(aProjectName)]),
      spider: chance.pick([null, 'p*', 'stock']),
      tag: chance.pick([null, null, 'eu']),
      perNode: chance.happens(0.5),
      max: chance.between(1, 3)
    }))
    return this.#do('queue.setLimits', { limits }, (client) => client.queue.setLimits({ limits }))
  }

  #configure(): Promise<unknown> {
    const chance = this.#chance
    const project = chance.pick(PROJECTS)
    const settings = {
      python: { kind: 'default' as const },
      limits: null,
      weight: chance.pick([0.5, 1, 3]),
      paused: false,
      retry: chance.happens(0.5)
        ? {
            attempts: 2,
            backoffSeconds: 1,
            backoffFactor: 2,
            backoffMaxSeconds: 30,
            on: ['failed' as const, 'lost' as const]
          }
        : null,
      noOverlap: chance.happens(0.2),
      distribution: chance.pick(['on_demand', 'at_once'] as const)
    }
    return this.#do('projects.configure', { project, settings }, (client) =>
      client.projects.configure({ project, settings })
    )
  }

  async #jobsOfStrangers(): Promise<void> {
    const answer = await this.#do('nodes.list', {}, (client) => client.nodes.list())
    const nodes = (answer as Awaited<ReturnType<Client['nodes']['list']>> | null)?.nodes ?? []
    const runs = nodes.flatMap((node) =>
      node.runs.filter(({ jobId }) => jobId === null).map((run) => ({ id: node.id, ...run }))
    )
    if (runs.length === 0) return
    const { id, project, jobid } = this.#chance.pick(runs)
    if (this.#chance.happens(0.5)) {
      await this.#do('nodes.cancelExternal', { id, jobid }, (client) =>
        client.nodes.cancelExternal({ id, project, jobid })
      )
    } else {
      await this.#do('nodes.adoptExternal', { id, jobid }, (client) =>
        client.nodes.adoptExternal({ id, project, jobid })
      )
    }
  }
}

const awake = (life: Life): Promise<void> => new Promise((resolve) => life.run(resolve))

/** Whether the command may have had an effect, because the database can have made the write without confirming it. */
const isUnsure = (error: unknown): boolean => (error as { code?: unknown }).code === 'DATABASE_UNUSABLE'
