import type { ScrapydVersion } from '../scrapyd/simulated-scrapyd.ts'
import { type Chance, createChance } from '../world/chance.ts'
import { ENGINE_FAULTS, type EngineFault, FAULT_KINDS, type FaultKind } from '../world/faults.ts'
import { REQUEST_FAULTS, type RequestFault } from '../world/faults.ts'

export interface NodeScenario {
  name: string
  version: ScrapydVersion
  maxProc: number
  /** The number of slots set by the operator. null: it is learned from the node. */
  slots: number | null
  queueAhead: number
  giveUpAfterSeconds: number | null
  tags: string[]
  finishedToKeep: number
  jobsToKeep: number
  zoneMinutes: number
  clockOffsetMs: number
  sharesQueueWith: string | null
  /** Whether the node already has the eggs, because it existed before. */
  hasEggs: boolean
}

export interface Scenario {
  seed: number
  nodes: NodeScenario[]
  /** Probability per request, by kind. The same for all nodes. */
  chances: Partial<Record<RequestFault, number>>
  /** Other faults, and the average time between them. */
  acts: FaultKind[]
  actEveryMs: number
  operationEveryMs: number
  /** When work and faults end. */
  activeMs: number
  cancelWaitsSeconds: readonly [number, number, number]
  /** Whether jobs use every feature of the engine. If false, they are plain. */
  isRich: boolean
}

const ACTS = FAULT_KINDS.filter((kind) => !(REQUEST_FAULTS as readonly FaultKind[]).includes(kind))

/** The faults of several engines. In about a third of the stories, engines only die. */
export interface EnginesScenario {
  engines: number
  acts: EngineFault[]
  actEveryMs: number
}

/** With `losesAnswers`, responses to commits are also lost. */
export function enginesScenarioOf(seed: number, engines: number, losesAnswers: boolean): EnginesScenario {
  const chance = createChance(seed, 'scenario of engines')
  const onlyDeaths = chance.happens(0.3)
  const chosen = ENGINE_FAULTS.filter((kind) => (onlyDeaths ? kind.endsWith('killed') : chance.happens(0.6)))
  return {
    engines,
    acts: chosen.filter((kind) => losesAnswers || kind !== 'answer of a commit lost'),
    actEveryMs: chance.between(4_000, 15_000)
  }
}

/** A third of the seeds are calm, so failures there are our own bugs. The others range from rough to wild. */
export function scenarioOf(seed: number): Scenario {
  const chance = createChance(seed, 'scenario')
  const wildness = chance.pick([0, 0, 0.2, 0.5, 1, 1])
  const nodeCount = chance.pick([1, 2, 2, 3, 3, 4])
  const nodes: NodeScenario[] = []
  for (let index = 1; index <= nodeCount; index += 1) nodes.push(aNode(chance, index, nodes, wildness))
  const chances: Scenario['chances'] = {}
  for (const kind of REQUEST_FAULTS) {
    if (wildness > 0 && chance.happens(0.6)) chances[kind] = wildness * chance.pick([0.002, 0.01, 0.03])
  }
  return {
    seed,
    nodes,
    chances,
    acts: wildness === 0 ? [] : ACTS.filter(() => chance.happens(0.3 + wildness / 2)),
    actEveryMs: chance.between(3_000, 8_000) / Math.max(wildness, 0.1),
    operationEveryMs: chance.between(1_000, 5_000),
    activeMs: chance.between(30_000, 120_000),
    cancelWaitsSeconds: chance.pick([
      [30, 15, 15],
      [3, 2, 2]
    ]),
    isRich: chance.happens(0.7)
  }
}

function aNode(chance: Chance, index: number, before: NodeScenario[], wildness: number): NodeScenario {
  const maxProc = chance.between(1, 4)
  return {
    name: `n${index}`,
    version: chance.pick(['1.2', '1.3', '1.4', '1.5', '1.6', '1.6'] as const),
    maxProc,
    slots: chance.pick([maxProc, maxProc, maxProc, maxProc + 1, null]),
    queueAhead: chance.pick([0, 0, 0, 1, 3]),
    giveUpAfterSeconds: chance.pick([null, null, 10, 30, 60]),
    tags: ['eu', 'us', 'fast'].filter(() => chance.happens(0.5)),
    finishedToKeep: chance.pick([1, 3, 10, 100]),
    jobsToKeep: chance.pick([1, 5, 20, 100]),
    zoneMinutes: chance.pick([0, 60, -480, 345]),
    clockOffsetMs: wildness > 0 && chance.happens(0.3) ? chance.between(-10_800_000, 10_800_000) : 0,
    sharesQueueWith: wildness >= 0.5 && before.length > 0 && chance.happens(0.1) ? before[0]!.name : null,
    hasEggs: chance.happens(0.3)
  }
}
