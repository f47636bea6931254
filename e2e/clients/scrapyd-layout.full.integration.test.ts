import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { buildDemoEgg, DEMO_FOLDER } from '../support/demo-egg.ts'
import { startScrapyd } from '../support/scrapyd-fleet.ts'
import { startService, TEST_CREDENTIALS } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

const authorization = basicAuthorization(TEST_CREDENTIALS)

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-layout-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

// oxlint-disable-next-line typescript/no-explicit-any -- responses of Scrapyd, compared as they are
type Answer = any

async function ask(address: string, path: string, form?: Record<string, string | Blob>): Promise<Answer> {
  const body = form && new FormData()
  for (const [name, value] of Object.entries(form ?? {})) body?.append(name, value)
  const url = new URL(path, address)
  return (await fetch(url, { headers: { authorization }, ...(body ? { method: 'POST', body } : {}) })).json()
}

function waitUntilFinished(address: string, project: string, jobid: string): Promise<Answer> {
  return until(
    `${jobid} to finish`,
    () => ask(address, `status.json?project=${project}&job=${jobid}`),
    (answer) => answer.currstate === 'finished'
  )
}

it('scrapyd.conf decides where everything is stored, and a real Scrapyd can take over from there, and back', async () => {
  const directory = makeDirectory()
  const data = makeDirectory()
  const configuration = join(makeDirectory(), 'deck.conf')
  writeFileSync(
    configuration,
    `[DEFAULT]
root = ${directory}

[scrapyd]
eggs_dir = %(root)s/eggs
logs_dir = %(root)s/logs
items_dir = %(root)s/items
jobs_dir = %(root)s/jobs
node_name = deck-1
jobs_to_keep = 1
max_proc = 1
logs_to_keep = 9

[services]
delproject.json =

[settings]
Plain = demo.settings
`
  )
  const options = {
    dataDirectory: data,
    arguments: ['--config', configuration],
    environment: { PYTHONPATH: DEMO_FOLDER }
  }
  const service = await startService(options)
  onTestFinished(() => service.stop())
  expect(service.output()).toContain('Scrapyd has no option \\"logs_to_keep\\"')
  const egg = new Blob([Buffer.from(await buildDemoEgg())])
  for (const version of ['1.0', '2.0']) {
    expect(await ask(service.address, 'addversion.json', { project: 'demo', version, egg })).toMatchObject({
      status: 'ok',
      spiders: 4,
      node_name: 'deck-1'
    })
  }
  expect(readdirSync(join(directory, 'eggs', 'demo')).sort()).toEqual(['1_0.egg', '2_0.egg'])

  // Projects in [settings] run without an egg.
  expect((await ask(service.address, 'listprojects.json')).projects).toEqual(['demo', 'plain'])
  expect((await ask(service.address, 'listversions.json?project=plain')).versions).toEqual([])
  await until(
    'the spiders of the project without an egg',
    () => ask(service.address, 'listspiders.json?project=plain'),
    (answer) => answer.spiders?.length === 4
  )
  const quick = { spider: 'quotes', pages: '1', delay: '0' }
  const plain = { ...quick, project: 'plain' }
  expect(await ask(service.address, 'schedule.json', { ...plain, _version: '1' })).toMatchObject({
    status: 'error',
    message: "version '1' not found"
  })
  expect(await ask(service.address, 'schedule.json', { ...plain, jobid: 'plain-1' })).toMatchObject({ status: 'ok' })
  await waitUntilFinished(service.address, 'plain', 'plain-1')
  expect(readFileSync(join(directory, 'logs', 'plain', 'quotes', 'plain-1.log'), 'utf8')).toContain('(finished)')
  expect((await fetch(new URL('delproject.json', service.address), { headers: { authorization } })).status).toBe(404)

  // Files are where Scrapyd puts them. For ended jobs, only the files that jobs_to_keep allows remain.
  for (const jobid of ['a', 'b', 'c']) {
    await ask(service.address, 'schedule.json', { ...quick, project: 'demo', jobid })
    await waitUntilFinished(service.address, 'demo', jobid)
  }
  await until(
    'the oldest log to go',
    async () => readdirSync(join(directory, 'logs', 'demo', 'quotes')).sort(),
    (names) => names.join() === 'b.log,c.log'
  )
  expect(readdirSync(join(directory, 'items', 'demo', 'quotes')).sort()).toEqual(['b.jl', 'c.jl'])
  expect(existsSync(join(directory, 'jobs', 'demo', 'quotes', 'c'))).toBe(true)
  await service.kill()

  const scrapyd = await startScrapyd({ directory, environment: { PYTHONPATH: DEMO_FOLDER } })
  onTestFinished(() => scrapyd.stop())
  expect((await ask(scrapyd.url, 'listprojects.json')).projects).toEqual(['demo'])
  expect((await ask(scrapyd.url, 'listversions.json?project=demo')).versions).toEqual(['1_0', '2_0'])
  expect((await ask(scrapyd.url, 'listspiders.json?project=demo')).spiders).toHaveLength(4)
  await ask(scrapyd.url, 'schedule.json', { ...quick, project: 'demo', jobid: 'theirs', _version: '1.0' })
  await waitUntilFinished(scrapyd.url, 'demo', 'theirs')
  await scrapyd.kill({ withSpiders: true })

  // As with Scrapyd, copying an egg into this directory deploys it.
  mkdirSync(join(directory, 'eggs', 'copied'))
  copyFileSync(join(directory, 'eggs', 'demo', '1_0.egg'), join(directory, 'eggs', 'copied', '7.egg'))
  await service.start()
  await until(
    'the copied egg to be taken up',
    () => ask(service.address, 'listspiders.json?project=copied'),
    (answer) => answer.spiders?.length === 4
  )
  expect((await ask(service.address, 'listversions.json?project=copied')).versions).toEqual(['7'])
})
