/**
 * `npm run bench -- NAME` runs bench/NAME.ts and prints one line of JSON per figure. Without a name, it lists the
 * benches. `-- all` runs every bench that has a bound and prints one table, which `--save` also writes to
 * docs/benchmarks.md.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BenchProblem } from './support/bench-problem.ts'
import { ensureSetUp } from './support/ensure-set-up.ts'
import type { Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { rowsOf, type Row, tableOf } from './table.ts'

interface Bench {
  about: string
  needsSetup?: boolean
  run(words: string[]): AsyncIterable<Figure> | Promise<Figure[]>
}

const NO_BENCHES = ['run.ts', 'figure.ts', 'table.ts']
/** The benches whose figures have a bound, in the order of the table. */
const COMPARING = [
  ...['first-dispatch', 'dispatch', 'enqueue', 'fleet', 'fleet-busy', 'history', 'schedules'],
  ...['local-start', 'local-throughput', 'local-memory', 'cold', 'cli', 'api', 'makespan', 'log-parse', 'log-open'],
  ...['archive', 'items', 'pg-dispatch']
]
const DOCUMENT = join(import.meta.dirname, '..', 'docs', 'benchmarks.md')
const TABLE = /(<!-- table: npm run bench -- all --save -->\n)[\s\S]*?(<!-- end of table -->)/

const names = fs
  .readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && !NO_BENCHES.includes(file) && !file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.ts'.length))

const [wanted, ...words] = process.argv.slice(2)
if (wanted === undefined) {
  for (const name of names) console.log(`${name.padEnd(20)} ${(await load(name)).about}`)
  console.log(`${'all'.padEnd(20)} every bench with a bound, as one table (--save: into docs/benchmarks.md)`)
} else if (wanted === 'all') {
  await runAll(words.includes('--save'))
} else if (names.includes(wanted)) {
  await runBench(wanted, words).catch((error: unknown) => {
    if (!(error instanceof BenchProblem)) throw error
    console.error(error.message)
    process.exitCode = 1
  })
} else {
  console.error(`There is no bench ${wanted}. There are: ${names.join(', ') || 'none yet'}`)
  process.exitCode = 1
}

async function runBench(name: string, given: string[]): Promise<void> {
  const { run, needsSetup = false } = await load(name)
  if (needsSetup) ensureSetUp()
  for await (const one of await run(given)) {
    const { figure, value, unit, goal, conditions } = one
    console.log(JSON.stringify({ bench: name, figure, value, unit, goal, conditions }))
    process.send?.(one)
  }
}

/**
 * Runs a bench in a separate process. In one process, with the heap and compiled code of earlier benches, the busy
 * fleet would use 50 % more CPU time.
 */
async function runAlone(name: string): Promise<{ figures: Figure[]; isWhole: boolean }> {
  const figures: Figure[] = []
  const bench = fork(import.meta.filename, [name])
  bench.on('message', (figure) => figures.push(figure as Figure))
  const [code] = (await once(bench, 'close')) as [number | null]
  return { figures, isWhole: code === 0 }
}

async function runAll(isSaved: boolean): Promise<void> {
  const rows: Row[] = []
  const failed: string[] = []
  for (const name of COMPARING.filter((one) => names.includes(one))) {
    const { figures, isWhole } = await runAlone(name)
    rows.push(...rowsOf(name, figures))
    if (!isWhole) failed.push(name)
  }
  const { cpus, cpu, memory_gib, node } = machine()
  const table = `${tableOf(rows)}\n\nMeasured on ${cpus} cores (${cpu}, ${memory_gib} GiB), Node ${node}, Scrapyd 1.6.0, in one run.`
  console.log(`\n${table}`)
  if (failed.length > 0) {
    console.error(`\nFailed, see above: ${failed.join(', ')}.${isSaved ? ' The table was not saved.' : ''}`)
    process.exitCode = 1
  } else if (isSaved) {
    const text = fs.readFileSync(DOCUMENT, 'utf8')
    fs.writeFileSync(DOCUMENT, text.replace(TABLE, `$1\n${table}\n\n$2`))
  }
  if (table.includes('**no**')) process.exitCode = 1
}

async function load(name: string): Promise<Bench> {
  return import(pathToFileURL(`${import.meta.dirname}/${name}.ts`).href)
}
