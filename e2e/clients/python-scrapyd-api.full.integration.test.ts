import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type PythonClient, startPythonClient, untilJobIs } from '../support/python-client.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let directory: string
let python: PythonClient

const BEGINNING = `from scrapyd_api import ScrapydAPI
api = ScrapydAPI(sys.argv[1], auth=("tester", "a password for tests"), timeout=30)`

beforeAll(async () => {
  service = await startService({ localSlots: 2 })
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-clients-'))
  writeFileSync(join(directory, 'demo.egg'), await buildDemoEgg())
  python = startPythonClient(directory, BEGINNING, service.address)
})
afterAll(async () => {
  python?.stop()
  await service?.stop()
  if (directory) rmSync(directory, { recursive: true, force: true })
})

const call = (expression: string) => python.evaluate(expression)

it('python-scrapyd-api: every method works as with a Scrapyd', async () => {
  expect(await call('api.list_projects()')).toEqual([])
  expect(await call("api.add_version('demo', '1.0', open('demo.egg', 'rb'))")).toBe(4)
  expect(await call("api.add_version('demo', '2', open('demo.egg', 'rb').read())")).toBe(4)
  expect(await call('api.list_projects()')).toEqual(['demo'])
  expect(await call("sorted(api.list_versions('demo'))")).toEqual(['1_0', '2'])
  expect(await call("api.list_spiders('demo')")).toEqual(['broken', 'prices', 'quotes', 'slow'])

  const quotes =
    "api.schedule('demo', 'quotes', settings={'LOG_LEVEL': 'DEBUG', 'CLOSESPIDER_PAGECOUNT': 9}, pages='1', delay='0.01', _version='1.0')"
  const jobid = (await call(quotes)) as string
  expect(jobid).toMatch(/^[0-9a-f]{32}$/)
  await untilJobIs('finished', jobid, service)
  expect(await call(`api.job_status('demo', '${jobid}')`)).toBe('finished')
  const { finished } = (await call("api.list_jobs('demo')")) as { finished: { id: string; spider: string }[] }
  expect(finished).toMatchObject([{ id: jobid, spider: 'quotes' }])

  expect(await call("api.schedule('demo', 'slow', jobid='stopped')")).toBe('stopped')
  await untilJobIs('running', 'stopped', service)
  expect(await call("api.job_status('demo', 'stopped')")).toBe('running')
  expect(await call("api.cancel('demo', 'stopped', signal='KILL')")).toBe('running')
  await untilJobIs('finished', 'stopped', service)
  expect(await call("api.cancel('demo', 'nobody')")).toBe(null)
  expect(await call("api.job_status('demo', 'nobody')")).toBe('')

  expect(await call("api.delete_version('demo', '2')")).toBe(true)
  expect(await call("api.list_versions('demo')")).toEqual(['1_0'])
  expect(await call("api.delete_project('demo')")).toBe(true)
  expect(await call('api.list_projects()')).toEqual([])
})

it('python-scrapyd-api: a refusal is an error with our message', async () => {
  const refused = (expression: string, message: unknown) => expect(call(expression)).rejects.toMatchObject({ message })
  await refused("api.list_spiders('none')", "ScrapydResponseError: project 'none' not found")
  await refused("api.schedule('none', 'x')", "ScrapydResponseError: project 'none' not found")
  await refused("api.delete_version('none', '1')", "ScrapydResponseError: version '1' not found")
  const noZip = expect.stringMatching(/^ScrapydResponseError: egg is not a ZIP file/)
  await refused("api.add_version('x', '1', b'no zip')", noZip)
})
