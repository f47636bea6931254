import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { buildDemoEgg } from '../../../../e2e/support/demo-egg.ts'
import { readTestEnvironment } from '../../../../scripts/setup/test-environment.mjs'
import { KubernetesSettings, type ProjectName, type VersionName } from '../../../shared/contract/index.ts'
import { asWheel } from '../../testing/archives.ts'
import { manifestsOf } from './job-manifest.ts'

interface Container {
  command: string[]
  env: { name: string; value?: string }[]
}

async function run(
  { command, env }: Container,
  directory: string,
  secrets: string
): Promise<{ code: number; log: string }> {
  const variables = env.map(({ name, value }) => {
    if (name === 'SCRAPDECK_DIRECTORY') return [name, directory]
    return [name, value?.replaceAll('$$', '$') ?? secrets]
  })
  const child = spawn(readTestEnvironment().python!, command.slice(1), {
    cwd: directory,
    env: Object.fromEntries(variables)
  })
  let log = ''
  child.stdout.on('data', (piece) => (log += piece))
  child.stderr.on('data', (piece) => (log += piece))
  const code = await new Promise<number>((resolve) => child.on('close', (exit) => resolve(exit ?? -1)))
  return { code, log }
}

it.each(['egg', 'wheel'])(
  'the containers of a pod fetch the %s, refuse a wrong one, and run the spider with its secrets hidden',
  async (form) => {
    const demo = await buildDemoEgg()
    const egg = Buffer.from(form === 'egg' ? demo : await asWheel(demo))
    let failures = 1
    const server = createServer((_request, response) => {
      if (failures-- > 0) response.writeHead(503).end()
      else response.end(egg)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/egg`
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-pod-'))
    const manifest = (sha256: string) => {
      const request = {
        project: 'demo' as ProjectName,
        version: '1.0' as VersionName,
        jobid: 'job-1',
        priority: 0,
        limits: null,
        spider: 'quotes',
        isVersionAsked: true,
        secretNames: ['key', 'BOT_NAME'],
        settings: { USER_AGENT: '$(HOME) $x', BOT_NAME: 'setting-hush' },
        args: { pages: '2', delay: '0', key: 'argument-hush' },
        env: { DEMO_TOUCH_FILE: join(directory, 'touched') }
      }
      const settings = KubernetesSettings.parse({ pod: { image: 'x' } })
      return manifestsOf({ nodeId: 'n-1', settings, request, egg: { url, sha256 } })
    }
    const { job, secret } = manifest(createHash('sha256').update(egg).digest('hex'))
    const { initContainers, containers } = podOf(job)
    const { values } = (secret as unknown as { stringData: { values: string } }).stringData
    try {
      expect(await run(initContainers[0]!, directory, '')).toMatchObject({ code: 0 })
      const { code, log } = await run(containers[0]!, directory, values)
      expect(log).toContain('Spider closed (finished)')
      expect(log).toContain("'USER_AGENT': '$(HOME) $x'")
      expect(log).not.toContain('hush')
      expect(code).toBe(0)
      expect(readFileSync(join(directory, 'touched'), 'utf8')).toBe('job-1\n')

      const other = podOf(manifest('00').job).initContainers[0]!
      expect(await run(other, directory, '')).toEqual({ code: 1, log: expect.stringContaining('another egg') })
    } finally {
      server.close()
      rmSync(directory, { recursive: true, force: true })
    }
  }
)

function podOf(job: object): { initContainers: Container[]; containers: Container[] } {
  return (job as { spec: { template: { spec: { initContainers: Container[]; containers: Container[] } } } }).spec
    .template.spec
}
