/**
 * Runs the whole engine under a virtual clock, on simulated Scrapyds, with every kind of fault, and checks it
 * against its promises (docs/promises.md). A seed defines one story, the same in every run and on every machine.
 *
 *   npm run simulate -- --seeds 500             stories 1 to 500
 *   npm run simulate -- --seeds 1 --from 4711   repeats one story, printed to the end if it fails
 *   npm run simulate -- --sweep 7               story 7 once per call of its engine, dying there
 *   npm run simulate -- --mutants               plants bugs, each of which must be found (--quick: three of them)
 *   npm run simulate -- --engines 3             the same stories on three engines with one database, which also die,
 *                                               stand still, are cut off, hand over; also with --mutants
 *
 * With `--lost-answers` and several engines, commits can take effect without a response because the connection
 * ended. The leader then steps down.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { MUTANTS, type Mutant } from './mutants.ts'
import { ENGINE_FAULTS, FAULT_KINDS, type FaultKind } from './world/faults.ts'
import type { Task, Told } from './worker.ts'

/** In a run of at least this many stories, every kind of fault must occur. Otherwise, the simulation is broken. */
const SEEDS_FOR_ALL_FAULTS = 300
const STORIES_SHOWN = 3

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    sweep: { type: 'string' },
    engines: { type: 'string', default: '1' },
    'lost-answers': { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    verbose: { type: 'boolean', default: false }
  }
})

const engines = Number(values.engines)
const losesAnswers = values['lost-answers']
const kindsOfEngines = ENGINE_FAULTS.filter((kind) => losesAnswers || kind !== 'answer of a commit lost')
const kinds = engines > 1 ? [...FAULT_KINDS, ...kindsOfEngines, 'an engine leads' as const] : FAULT_KINDS

if (values.mutants) await huntMutants()
else if (values.sweep !== undefined) await sweep(Number(values.sweep))
else await tellSeeds(Number(values.from), Number(values.seeds ?? 100))

async function tellSeeds(from: number, count: number): Promise<void> {
  const tasks = Array.from(
    { length: count },
    (_, index): Task => ({ seed: from + index, death: null, engines, losesAnswers })
  )
  const summary = newSummary()
  const beganMs = performance.now()
  await runAll(tasks, null, (told) => {
    take(summary, told)
    if (summary.told % 100 === 0 && count > 100)
      console.log(`${summary.told} stories, ${summary.failed.length} went wrong`)
    return true
  })
  showSummary(summary, performance.now() - beganMs)
  const missing = kinds.filter((kind) => (summary.faults[kind] ?? 0) === 0)
  if (count >= SEEDS_FOR_ALL_FAULTS && missing.length > 0) {
    console.error(`Never happened: ${missing.join(', ')}`)
    process.exitCode = 1
  }
}

/**
 * Runs the story twice for each call of the engine's first life. The engine dies once before and once after the call.
 */
async function sweep(seed: number): Promise<void> {
  let calls = 0
  await runAll([{ seed, death: null, engines: 1, losesAnswers }], null, (told) => {
    calls = told.calls
    return true
  })
  const summary = newSummary()
  const beganMs = performance.now()
  const tasks = Array.from({ length: calls }, (_, call) =>
    (['before', 'after'] as const).map((when): Task => ({ seed, death: { call, when }, engines: 1, losesAnswers }))
  ).flat()
  console.log(`Story ${seed} makes ${calls} calls; it dies at each, before and after`)
  await runAll(tasks, null, (told) => {
    take(summary, told)
    if (summary.told % 100 === 0) console.log(`${summary.told} of ${tasks.length}, ${summary.failed.length} went wrong`)
    return true
  })
  showSummary(summary, performance.now() - beganMs)
}

async function huntMutants(): Promise<void> {
  const chosen = MUTANTS.filter(
    ({ name, isQuick, isOfSeveral }) =>
      (isOfSeveral === true) === engines > 1 &&
      (values.only === undefined || name.includes(values.only)) &&
      (!values.quick || isQuick === true)
  )
  for (const mutant of chosen) {
    const found = await hunt(mutant)
    if (found === null) process.exitCode = 1
    console.log(
      found === null
        ? `✗ ${mutant.name}: lived through ${mutant.seeds} stories`
        : `✓ ${mutant.name}: story ${found.task.seed}: ${found.violations[0]}`
    )
  }
}

async function hunt(mutant: Mutant): Promise<Told | null> {
  const from = Number(values.from)
  const tasks = Array.from(
    { length: mutant.seeds },
    (_, index): Task => ({ seed: from + index, death: null, engines, losesAnswers })
  )
  let found: Told | null = null
  await runAll(tasks, mutant.name, (told) => {
    const isMeant = told.violations.some((text) => mutant.breaks.some((rule) => text.startsWith(`${rule}:`)))
    if (isMeant && (found === null || told.task.seed < found.task.seed)) found = told
    return found === null
  })
  return found
}

interface Summary {
  told: number
  failed: Told[]
  jobs: number
  cpuMs: number
  faults: Partial<Record<FaultKind, number>>
  operations: Told['operations']
}

function newSummary(): Summary {
  return { told: 0, failed: [], jobs: 0, cpuMs: 0, faults: {}, operations: {} }
}

function take(summary: Summary, told: Told): void {
  summary.told += 1
  summary.jobs += told.jobs
  summary.cpuMs += told.cpuMs
  for (const [kind, count] of Object.entries(told.faults)) {
    summary.faults[kind as FaultKind] = (summary.faults[kind as FaultKind] ?? 0) + count
  }
  for (const [name, { ok, fail, unknown }] of Object.entries(told.operations)) {
    const counts = (summary.operations[name] ??= { ok: 0, fail: 0, unknown: 0 })
    counts.ok += ok
    counts.fail += fail
    counts.unknown += unknown
  }
  if (values.verbose) console.log(`${told.task.seed} ${told.traceHash.slice(0, 12)} ${Math.round(told.cpuMs)} ms`)
  if (told.violations.length === 0) return
  summary.failed.push(told)
  const { seed, death } = told.task
  const where = death === null ? '' : ` dying ${death.when} call ${death.call}`
  console.error(
    `✗ story ${seed}${where}: ${told.violations[0]}${told.violations.length > 1 ? ` (and ${told.violations.length - 1} more)` : ''}`
  )
}

function showSummary(summary: Summary, tookMs: number): void {
  const { told, failed, jobs, cpuMs, faults, operations } = summary
  for (const one of failed.sort((left, right) => left.task.seed - right.task.seed).slice(0, STORIES_SHOWN)) {
    console.error(`\n=== story ${one.task.seed}\n${one.story}`)
  }
  if (failed.length > 0) process.exitCode = 1
  const rules = new Map<string, number>()
  for (const { violations } of failed) {
    for (const rule of new Set(violations.map((text) => text.split(':')[0]!)))
      rules.set(rule, (rules.get(rule) ?? 0) + 1)
  }
  console.log('\nFaults:')
  for (const kind of kinds) console.log(`  ${String(faults[kind] ?? 0).padStart(8)}  ${kind}`)
  console.log('Orders (ok, refused, unknown):')
  for (const [name, { ok, fail, unknown }] of Object.entries(operations).sort()) {
    console.log(`  ${String(ok).padStart(8)} ${String(fail).padStart(6)} ${String(unknown).padStart(5)}  ${name}`)
  }
  if (rules.size > 0) console.log(`Broken: ${[...rules].map(([rule, count]) => `${rule} in ${count}`).join(', ')}`)
  console.log(
    `${told} stories, ${jobs} jobs, ${failed.length} went wrong; ${Math.round(tookMs / 1000)} s, ${(cpuMs / told / 1000).toFixed(3)} s of CPU a story`
  )
  if (failed.length > 0) console.log(`Again: npm run simulate -- --seeds 1 --from ${failed[0]!.task.seed}`)
}

async function runAll(tasks: Task[], mutant: string | null, take: (told: Told) => boolean): Promise<void> {
  const waiting = [...tasks]
  const workers = Math.min(Number(values.processes), tasks.length)
  await Promise.all(Array.from({ length: workers }, () => work()))

  function work(): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = fork(new URL('worker.ts', import.meta.url), {
        env: { ...process.env, SIMULATION_MUTANT: mutant ?? '' },
        execArgv: ['--no-warnings']
      })
      let current: Task | null = null
      const next = () => {
        current = waiting.shift() ?? null
        if (current === null) child.disconnect()
        else child.send(current)
      }
      child.on('message', (told: Told | 'ready') => {
        if (told !== 'ready' && !take(told)) waiting.length = 0
        next()
      })
      child.on('exit', (code) => {
        if (code === 0) resolve()
        else reject(new Error(`a process of the simulation ended with ${code} in story ${current?.seed}`))
      })
    })
  }
}
