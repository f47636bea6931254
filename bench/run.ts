/**
 * `npm run bench -- NAME` runs bench/NAME.ts and prints one line of JSON per figure; without a name it lists the
 * benches. Everything else goes to standard error, so that the figures can be piped.
 */
import fs from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Figure } from './figure.ts'

interface Bench {
  /** One-line description for the list. */
  about: string
  run(): AsyncIterable<Figure> | Promise<Figure[]>
}

const names = fs
  .readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && !['run.ts', 'figure.ts'].includes(file) && !file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.ts'.length))

const [wanted] = process.argv.slice(2)
if (wanted === undefined) {
  for (const name of names) console.log(`${name.padEnd(20)} ${(await load(name)).about}`)
} else if (names.includes(wanted)) {
  await runBench(wanted)
} else {
  console.error(`There is no bench ${wanted}. There are: ${names.join(', ') || 'none yet'}`)
  process.exitCode = 1
}

async function runBench(name: string): Promise<void> {
  const { run } = await load(name)
  for await (const { figure, value, unit, conditions } of await run()) {
    console.log(JSON.stringify({ bench: name, figure, value, unit, conditions }))
  }
}

async function load(name: string): Promise<Bench> {
  return import(pathToFileURL(`${import.meta.dirname}/${name}.ts`).href)
}
