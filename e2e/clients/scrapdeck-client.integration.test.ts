import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SERVICE_ENTRY, type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

/** Runs the command line as if on another machine. The real service and its real spiders are in another process. */

const command = resolve(import.meta.dirname, '../..', SERVICE_ENTRY)
let service: Service
let project: string

beforeAll(async () => {
  service = await startService({ localSlots: 1 })
  project = mkdtempSync(join(tmpdir(), 'scrapdeck-client-'))
  mkdirSync(join(project, 'shop'))
  const files = {
    'scrapy.cfg': '[settings]\ndefault = shop.settings\n[deploy]\nproject = shop\n',
    'shop/__init__.py': '',
    'shop/settings.py': 'SPIDER_MODULES = ["shop.spiders"]\nTELNETCONSOLE_ENABLED = False\n',
    'shop/spiders.py': `
import scrapy

class Echo(scrapy.Spider):
    name = "echo"
    async def start(self):
        self.logger.info("day is %s", self.day)
        if self.day == "bad":
            raise SystemExit(3)
        return
        yield

class Slow(scrapy.Spider):
    name = "slow"
    async def start(self):
        import asyncio, os
        for number in range(600):
            self.logger.info("line %d.", number)
            if os.path.exists(self.until):
                return
            await asyncio.sleep(0.1)
        return
        yield
`
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(project, path), text)
})

afterAll(async () => {
  await service.stop()
  rmSync(project, { recursive: true, force: true })
})

const environment = () => ({
  ...process.env,
  SCRAPDECK_URL: service.address,
  SCRAPDECK_USERNAME: TEST_CREDENTIALS.username,
  SCRAPDECK_PASSWORD: TEST_CREDENTIALS.password
})

function scrapdeck(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = environment()
  return new Promise((done) => {
    execFile(process.execPath, [command, ...words], { cwd: project, env, timeout: 60_000 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    )
  })
}

function startScrapdeck(...words: string[]) {
  const child = spawn(process.execPath, [command, ...words], { cwd: project, env: environment() })
  const printed = { stdout: '', stderr: '' }
  child.stdout.on('data', (piece) => (printed.stdout += piece))
  child.stderr.on('data', (piece) => (printed.stderr += piece))
  return { printed, ended: once(child, 'close').then(([code]) => code as number) }
}

it('a project can be deployed from its folder, run, followed, inspected and scheduled', async () => {
  const deployed = await scrapdeck('deploy', '--version', '1')
  expect([deployed.code, deployed.stdout], deployed.stderr).toEqual([
    0,
    'shop 1 was uploaded (2 spiders: echo, slow).\n'
  ])

  const followed = await scrapdeck('run', 'shop', 'echo', '-a', 'day=2026-11-21', '--follow')
  expect([followed.code, followed.stdout], followed.stderr).toEqual([0, expect.stringContaining('day is 2026-11-21')])
  expect(followed.stdout).toMatch(/Spider closed \(finished\)\n[0-9a-f]{32} {2}succeeded \(finished\)\n$/)

  const { jobs } = JSON.parse((await scrapdeck('jobs', '--json', '--status', 'succeeded')).stdout)
  const id: string = jobs[0].id
  expect(jobs).toMatchObject([{ project: 'shop', version: null, spider: 'echo' }])
  expect((await scrapdeck('logs', id.slice(0, 20), '-n', '1')).stdout).toContain('Spider closed (finished)')
  expect((await scrapdeck('jobs', id)).stdout).toContain('Arguments  day=2026-11-21')

  const schedule = [
    '--project',
    'shop',
    '--spider',
    'echo',
    '--cron',
    '0 0 1 1 *',
    '--zone',
    'UTC',
    '-a',
    'day={nominal:yyyy}'
  ]
  expect(await scrapdeck('schedules', 'create', 'yearly', ...schedule)).toMatchObject({ code: 0 })
  const fired = JSON.parse((await scrapdeck('schedules', 'run', 'yearly', '--json')).stdout)
  expect(fired.firing).toMatchObject({ origin: 'manual', state: 'fired' })
  const log = await scrapdeck('logs', '-f', '-n', '200', fired.firing.jobIds[0])
  expect(log.stdout).toContain(`day is ${new Date().getUTCFullYear()}`)
})

it('exit codes tell programs what happened', async () => {
  expect(await scrapdeck('run', 'shop', 'nothing')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('nothing')
  })
  const failed = await scrapdeck('run', 'shop', 'echo', '-a', 'day=bad', '--wait')
  expect([failed.code, failed.stdout], failed.stderr).toEqual([7, expect.stringMatching(/ failed \(/)])
})

it('programs get as JSON what people can read about the local service', async () => {
  const place = ['--data', service.dataDirectory, '--port', new URL(service.address).port]
  const credentials = JSON.parse((await scrapdeck('credentials', ...place, '--json')).stdout)
  expect(credentials).toEqual({ ...TEST_CREDENTIALS, port: Number(place[3]) })
  const link = JSON.parse((await scrapdeck('link', ...place, '--json')).stdout)
  expect(link.url).toContain(`${service.address}/ui/login?token=`)
  const { options } = JSON.parse((await scrapdeck('config', ...place, '--json')).stdout)
  expect(options).toContainEqual(expect.objectContaining({ name: 'http_port', value: place[3] }))
})

it('logs -f and run --wait follow a live job, even while the engine is killed and restarted', async () => {
  const untilFile = join(project, 'until')
  const asked = await scrapdeck('run', 'shop', 'slow', '-a', `until=${untilFile}`, '--json')
  const [{ id }] = JSON.parse(asked.stdout).jobs
  const followed = startScrapdeck('logs', '-f', '-n', '10000', id)
  await until(
    'the log to grow',
    async () => followed.printed.stdout,
    (text) => text.includes('line 3.')
  )
  const waiting = startScrapdeck('run', 'shop', 'echo', '-a', 'day=2026-11-21', '--after', id, '--wait')
  await until(
    'the second job to be asked for, and answered',
    async () => waiting.printed.stderr,
    (text) => text.includes('Waiting for 1 job')
  )
  await service.kill()
  await service.start()
  const linesBefore = followed.printed.stdout.split('\n').length
  await until(
    'the log to grow again',
    async () => followed.printed.stdout,
    (text) => text.split('\n').length > linesBefore + 3
  )
  writeFileSync(untilFile, '')
  expect(await followed.ended).toBe(0)
  const numbers = [...followed.printed.stdout.matchAll(/line (\d+)\./g)].map(([, number]) => Number(number))
  expect(numbers).toEqual(numbers.map((_, index) => index))
  expect(followed.printed.stdout).toContain('Spider closed (finished)')
  expect([await waiting.ended, waiting.printed.stdout]).toEqual([0, expect.stringContaining('succeeded')])
})
