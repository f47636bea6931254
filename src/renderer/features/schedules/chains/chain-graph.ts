/** Chains as a graph: what runs after what, laid out from left to right. Pure. */
import type { Chain, ProjectName } from '../../../../shared/contract/index.ts'
import { matchesGlob } from '../../../../shared/glob.ts'

export const SPIDER_WIDTH = 164
export const SPIDER_HEIGHT = 40
export const CHAIN_WIDTH = 104
export const CHAIN_HEIGHT = 24
const COLUMN = SPIDER_WIDTH + CHAIN_WIDTH + 2 * 44
const ROW = SPIDER_HEIGHT + 18
const CHAIN_ROW = CHAIN_HEIGHT + 8
const SWEEPS = 6

export interface GraphSpider {
  /** `prices/otto`. With `*`, it represents every matching spider. */
  readonly key: string
  readonly project: ProjectName
  readonly spider: string
  readonly x: number
  readonly y: number
}
export interface GraphChain {
  readonly chain: Chain
  readonly from: string
  readonly to: readonly string[]
  readonly x: number
  readonly y: number
  /** Whether the link leads back to the left, because it is part of a cycle. */
  readonly isBack: boolean
}
export interface Graph {
  readonly spiders: readonly GraphSpider[]
  readonly chains: readonly GraphChain[]
  /** Links from a spider to a pattern that it matches: the spider's runs start the pattern's chains. */
  readonly matches: readonly { readonly from: string; readonly to: string }[]
  /** Each circle as a list of its spiders. Only enabled chains count. */
  readonly circles: readonly (readonly string[])[]
  readonly width: number
  readonly height: number
}

const keyOf = (project: ProjectName, spider: string) => `${project}/${spider}`

export function layOutChains(chains: readonly Chain[]): Graph {
  const spiders = new Map<string, { project: ProjectName; spider: string }>()
  for (const { project, spider, run } of chains) {
    spiders.set(keyOf(project, spider), { project, spider })
    for (const each of run.spiders) spiders.set(keyOf(run.project, each), { project: run.project, spider: each })
  }
  const matches = [...spiders].flatMap(([from, each]) =>
    [...spiders].flatMap(([to, pattern]) =>
      from !== to &&
      !isPattern(each) &&
      isPattern(pattern) &&
      matchesGlob(pattern.project, each.project) &&
      matchesGlob(pattern.spider, each.spider)
        ? [{ from, to }]
        : []
    )
  )
  const after = new Map([...spiders.keys()].map((key) => [key, new Set<string>()]))
  for (const { project, spider, run } of chains)
    for (const each of run.spiders) after.get(keyOf(project, spider))?.add(keyOf(run.project, each))
  for (const { from, to } of matches) after.get(from)?.add(to)

  const ranks = rankOf(after)
  const xOf = (key: string) => (ranks.get(key) as number) * COLUMN
  const ys = placeRows(ranks, after)
  const yOf = (key: string) => ys.get(key) as number
  const placed = placeChains(chains, xOf, yOf)
  const rows = [...[...ys.values()].map((y) => y + SPIDER_HEIGHT), ...placed.map(({ y }) => y + CHAIN_HEIGHT)]
  const columns = Math.max(0, ...ranks.values())
  return {
    spiders: [...spiders].map(([key, each]) => ({ key, ...each, x: xOf(key), y: yOf(key) })),
    chains: placed,
    matches,
    circles: findCircles(chains.filter(({ enabled }) => enabled)),
    width: columns * COLUMN + SPIDER_WIDTH + (placed.some(({ isBack }) => isBack) ? CHAIN_WIDTH + 60 : 0),
    height: Math.max(0, ...rows)
  }
}

const isPattern = ({ project, spider }: { project: ProjectName; spider: string }) => `${project}${spider}`.includes('*')

/** The column of each spider: to the right of all spiders that precede it. Ignores links that close a circle. */
function rankOf(after: ReadonlyMap<string, ReadonlySet<string>>): Map<string, number> {
  const back = new Set<string>()
  const done = new Set<string>()
  const order: string[] = []
  const path = new Set<string>()
  const visit = (key: string) => {
    if (done.has(key)) return
    path.add(key)
    for (const next of after.get(key) ?? []) {
      if (path.has(next)) back.add(`${key}\n${next}`)
      else visit(next)
    }
    path.delete(key)
    done.add(key)
    order.unshift(key)
  }
  for (const key of after.keys()) visit(key)
  const ranks = new Map(order.map((key) => [key, 0]))
  for (const key of order)
    for (const next of after.get(key) ?? [])
      if (!back.has(`${key}\n${next}`))
        ranks.set(next, Math.max(ranks.get(next) as number, (ranks.get(key) as number) + 1))
  return ranks
}

/** Chooses rows that keep lines short: orders each column by its neighbors, without overlaps. */
function placeRows(ranks: ReadonlyMap<string, number>, after: ReadonlyMap<string, ReadonlySet<string>>) {
  const neighbours = new Map([...ranks.keys()].map((key) => [key, [...(after.get(key) ?? [])]]))
  for (const [key, nexts] of after) for (const next of nexts) neighbours.get(next)?.push(key)
  const columns: string[][] = []
  for (const [key, rank] of ranks) (columns[rank] ??= []).push(key)
  const ys = new Map<string, number>()
  for (const column of columns) for (const [index, key] of column.entries()) ys.set(key, index * ROW)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : [...columns].reverse()) {
      const wanted = column.map((key) => ({
        key,
        y: mean(
          neighbours.get(key)?.map((each) => ys.get(each) as number),
          ys.get(key) as number
        )
      }))
      for (const { key, y } of spacedOut(wanted, ROW)) ys.set(key, y)
    }
  }
  const top = Math.min(...ys.values())
  for (const [key, y] of ys) ys.set(key, y - top)
  return ys
}

function placeChains(
  chains: readonly Chain[],
  xOf: (key: string) => number,
  yOf: (key: string) => number
): GraphChain[] {
  const columns = new Map<number, { key: string; y: number; made: Omit<GraphChain, 'y'> }[]>()
  for (const chain of chains) {
    const from = keyOf(chain.project, chain.spider)
    const to = chain.run.spiders.map((spider) => keyOf(chain.run.project, spider))
    const x = xOf(from) + SPIDER_WIDTH + 44
    const centre = mean(to.map(yOf), yOf(from))
    const isBack = to.some((key) => xOf(key) <= xOf(from))
    const wanted = (isBack ? yOf(from) : (centre + yOf(from)) / 2) + (SPIDER_HEIGHT - CHAIN_HEIGHT) / 2
    const column = columns.get(x) ?? []
    column.push({ key: chain.id, y: wanted, made: { chain, from, to, x, isBack } })
    columns.set(x, column)
  }
  return [...columns.values()].flatMap((column) => {
    const ys = new Map(spacedOut(column, CHAIN_ROW).map(({ key, y }) => [key, y]))
    const lowest = Math.min(...ys.values())
    return column.map(({ key, made }) => ({ ...made, y: (ys.get(key) as number) + Math.max(0, -lowest) }))
  })
}

/**
 * Sorts the boxes by their desired positions, and moves them so that they are at least `apart` from each other. Moves
 * them as little as possible on average.
 */
function spacedOut<T extends { key: string; y: number }>(wanted: readonly T[], apart: number): T[] {
  const inOrder = [...wanted].sort((left, right) => left.y - right.y || (left.key < right.key ? -1 : 1))
  let last = Number.NEGATIVE_INFINITY
  const placed = inOrder.map((each) => {
    last = Math.max(each.y, last + apart)
    return { ...each, y: last }
  })
  const drift = mean(
    placed.map(({ y }, index) => y - (inOrder[index] as T).y),
    0
  )
  return placed.map((each) => ({ ...each, y: each.y - drift }))
}

const mean = (values: readonly number[] | undefined, otherwise: number) =>
  values === undefined || values.length === 0 ? otherwise : values.reduce((sum, each) => sum + each, 0) / values.length

/** Finds circles of enabled chains, at least one if any exist. A pattern represents the spiders that it matches. */
function findCircles(chains: readonly Chain[]): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []
  const follow = (key: string) => {
    const at = path.indexOf(key)
    if (at !== -1) return void circles.push(path.slice(at))
    if (done.has(key)) return
    done.add(key)
    path.push(key)
    const [project, spider] = splitKey(key)
    for (const chain of chains)
      if (matchesGlob(chain.project, project) && matchesGlob(chain.spider, spider))
        for (const each of chain.run.spiders) follow(keyOf(chain.run.project, each))
    path.pop()
  }
  for (const { run } of chains) for (const each of run.spiders) follow(keyOf(run.project, each))
  return circles
}

function splitKey(key: string): [string, string] {
  const at = key.indexOf('/')
  return [key.slice(0, at), key.slice(at + 1)]
}
