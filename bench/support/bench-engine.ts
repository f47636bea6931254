import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { createEngine } from '../../src/engine/index.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'

export async function startBenchEngine() {
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  const engine = await createEngine({
    dataDirectory: directory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0
  })
  return {
    engine,
    client: createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } }),
    async stop() {
      await engine.stop()
      await rm(directory, { recursive: true, force: true })
    }
  }
}

export type BenchClient = Awaited<ReturnType<typeof startBenchEngine>>['client']

export async function deployNoop(client: BenchClient): Promise<void> {
  const egg = await buildEgg(
    [
      { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = noop.settings\n') },
      { path: 'noop/__init__.py', bytes: Buffer.from('') },
      { path: 'noop/settings.py', bytes: Buffer.from('') }
    ],
    {}
  )
  await client.projects.upload({
    file: new File([egg as Uint8Array<ArrayBuffer>], 'noop.egg'),
    project: 'noop',
    version: '1'
  })
  for await (const step of await client.projects.deploy({ project: 'noop', version: '1' })) {
    if (step.state === 'failed') throw new Error(`deploying failed: ${step.error}`)
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function machine(): Record<string, string | number> {
  return {
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version
  }
}
