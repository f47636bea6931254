import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { buildBenchEgg } from './sides.ts'

export interface BareSpiders {
  /** Resolves to the time from before the fork until Scrapy logs "Spider opened", in ms. */
  openMs(): Promise<number>
  runsPerSecond(runs: number, atOnce: number): Promise<number>
  stop(): Promise<void>
}

export async function startBareSpiders(): Promise<BareSpiders> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-bare-'))
  const egg = join(directory, 'bench.egg')
  writeFileSync(egg, await buildBenchEgg())
  const python = spawn(readTestEnvironment().python, [join(import.meta.dirname, 'bare_spiders.py'), egg, directory], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the bare Python ended')
    return value as string
  }
  const order = (text: string) => {
    python.stdin.write(`${text}\n`)
    return nextLine()
  }
  await nextLine()
  return {
    async openMs() {
      const [began, log] = (await order('one')).split(' ')
      const opened = /^([\d.]+) .*Spider opened$/m.exec(readFileSync(log!, 'utf8'))![1]
      return (Number(opened) - Number(began)) * 1_000
    },
    async runsPerSecond(runs, atOnce) {
      return runs / Number(await order(`many ${runs} ${atOnce}`))
    },
    async stop() {
      python.stdin.end()
      if (python.exitCode === null) await once(python, 'exit')
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}
