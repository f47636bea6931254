import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFakeClock } from '../../src/engine/testing/fake-clock.ts'
import { fillThroughEngine } from './fill-through-engine.ts'
import { fillThroughStore } from './fill-through-store.ts'
import { readEverything } from './read-everything.ts'

// node e2e/upgrades/make-data-directory.ts NAME: writes data-directories/NAME as this version creates it
// (README.md).

const name = process.argv[2]
if (name === undefined) throw new Error('Say how the directory is to be called, such as 0039-during-issue-35')
const directory = join(import.meta.dirname, 'data-directories', name)
const data = join(directory, 'data')
await rm(directory, { recursive: true, force: true })
await mkdir(data, { recursive: true })
const clock = createFakeClock()
await fillThroughEngine(data, clock)
await fillThroughStore(data, clock)
const expected = { nowMs: clock.nowMs(), ...(await readEverything(data, clock)) }
await rm(join(data, 'engine.lock'), { force: true })
await writeFile(join(directory, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`)
