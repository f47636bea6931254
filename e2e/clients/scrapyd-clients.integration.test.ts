import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { type PythonClient, runClient, startPythonClient, untilJobIs } from '../support/python-client.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { isCore } from '../../scripts/test-length.mjs'

const { username: USERNAME, password: PASSWORD } = TEST_CREDENTIALS
const authorization = basicAuthorization(TEST_CREDENTIALS)

let service: Service
let projectDirectory: string
let python: PythonClient

beforeAll(async () => {
  service = await startService({ localSlots: 2 })
  projectDirectory = mkdtempSync(join(tmpdir(), 'scrapdeck-clients-'))
  cpSync(resolve(import.meta.dirname, '../../resources/demo'), projectDirectory, { recursive: true })
  writeConfiguration('deploy', service.address, PASSWORD)
  python = startPythonClient(projectDirectory, BEGINNING, service.address, USERNAME, PASSWORD)
})
afterAll(async () => {
  python?.stop()
  await service?.stop()
  if (projectDirectory) rmSync(projectDirectory, { recursive: true, force: true })
})

function writeConfiguration(section: string, url: string, password: string): void {
  const target = `[${section}]\nurl = ${url}/\nproject = demo\nusername = ${USERNAME}\npassword = ${password}\n`
  writeFileSync(join(projectDirectory, 'scrapy.cfg'), `[settings]\ndefault = demo.settings\n\n${target}`)
}

const run = (command: string, ...args: string[]) => runClient(projectDirectory, command, ...args)

const BEGINNING = `from scrapyd_client.pyclient import ScrapydClient
client = ScrapydClient(url=sys.argv[1], username=sys.argv[2], password=sys.argv[3])`
const callClient = (expression: string) => python.evaluate(expression)

interface Jobs {
  pending: { id: string }[]
  running: { id: string; log_url: string | null }[]
  finished: { id: string; start_time: string; end_time: string; log_url: string | null }[]
}

describe('the real clients of Scrapyd, used with the fleet', () => {
  it('scrapyd-deploy deploys; a wrong password is a failed deploy', async () => {
    const deployed = await run('scrapyd-deploy', '--version', '1.0.1')
    expect(deployed).toMatchObject({ code: 0, stderr: expect.stringContaining('Server response (200):') })
    expect(JSON.parse(deployed.stdout)).toMatchObject({ status: 'ok', project: 'demo', version: '1.0.1', spiders: 4 })

    writeConfiguration('deploy', service.address, 'wrong')
    const refused = await run('scrapyd-deploy', '--version', '2')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Deploy failed (401)')])
    writeConfiguration('deploy', service.address, PASSWORD)
  })

  it('scrapyd-client lists and schedules; the job runs and leaves its log', async () => {
    // scrapyd-client inserts a slash between the address and the endpoint, so the URL has two slashes here.
    expect((await run('scrapyd-client', 'projects')).stdout).toBe('demo\n')
    expect((await run('scrapyd-client', 'spiders', '-p', 'demo')).stdout).toContain('quotes')
    const scheduled = await run(
      'scrapyd-client',
      'schedule',
      '-p',
      'demo',
      '--arg',
      'pages=2',
      '--arg',
      'delay=0.01',
      'quotes'
    )
    const jobid = /demo \/ quotes => (\S+)/.exec(scheduled.stdout)?.[1] as string
    expect(jobid).toMatch(/^[0-9a-f]{32}$/)

    await untilJobIs('finished', jobid, service)
    const jobs = (await until(
      'the log to be named',
      () => callClient("client.jobs('demo')") as Promise<Jobs>,
      ({ finished }) => finished.some(({ id, log_url }) => id === jobid && log_url !== null)
    )) as Jobs
    const job = jobs.finished.find(({ id }) => id === jobid)
    expect(job?.log_url).toBe(`/logs/demo/quotes/${jobid}.log`)
    expect(job?.end_time).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?$/)
    expect(await callClient(`client.status('${jobid}', 'demo')`)).toMatchObject({ currstate: 'finished' })

    const log = await fetch(`${service.address}${job?.log_url}`, { headers: { authorization } })
    expect([log.status, log.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    const text = await log.text()
    expect(text).toContain("'finish_reason': 'finished'")
    const tail = await fetch(`${service.address}${job?.log_url}`, { headers: { authorization, range: 'bytes=-100' } })
    expect([tail.status, await tail.text()]).toEqual([206, text.slice(-100)])
    const listing = await fetch(`${service.address}/logs/demo/quotes/`, { headers: { authorization } })
    expect(await listing.text()).toContain(`${jobid}.log`)
  })

  it('ScrapydClient cancels a running job', async () => {
    const jobid = (await callClient("client.schedule('demo', 'slow')")) as string
    await untilJobIs('running', jobid, service)
    const { running } = (await callClient("client.jobs('demo')")) as Jobs
    expect(running.map(({ id }) => id)).toEqual([jobid])
    expect(await callClient(`client.cancel('demo', '${jobid}')`)).toMatchObject({ prevstate: 'running', status: 'ok' })
    await untilJobIs('finished', jobid, service)
    expect(await callClient(`client.status('${jobid}')`)).toMatchObject({ currstate: 'finished' })
  })

  it('errors reach the clients as text that they print', async () => {
    await expect(callClient("client.spiders('none')")).rejects.toThrow("project 'none' not found")
    await expect(callClient("client.schedule('demo', 'none')")).rejects.toThrow("spider 'none' not found")
    await expect(callClient("client.delversion('demo', '9')")).rejects.toThrow("version '9' not found")
    const notAnEgg = join(projectDirectory, 'not-an.egg')
    writeFileSync(notAnEgg, 'text')
    const refused = await run('scrapyd-deploy', '--egg', notAnEgg, '--version', '3')
    expect(JSON.parse(refused.stdout)).toMatchObject({
      status: 'error',
      message: expect.stringContaining('egg is not a ZIP file')
    })
  })

  it("versions are listed in Scrapyd's order, and the project is gone once deleted", async () => {
    expect(await callClient("client.versions('demo')")).toEqual(['1_0_1'])
    expect(await callClient("client.delproject('demo')")).toMatchObject({ status: 'ok' })
    expect(await callClient('client.projects()')).toEqual([])
  })

  it.skipIf(isCore)('works through a proxy that strips a base path', async () => {
    const prefix = '/base/path'
    const target = new URL(service.address)
    const proxy = createServer((incoming, outgoing) => {
      const path = incoming.url ?? ''
      if (!path.startsWith(`${prefix}/`)) return void outgoing.writeHead(404).end()
      const headers = { ...incoming.headers, host: target.host, 'x-forwarded-prefix': prefix }
      const { hostname, port } = target
      const options = {
        hostname,
        port,
        method: incoming.method,
        path: path.slice(prefix.length),
        headers,
        agent: false
      }
      const passed = sendRequest(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(passed)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => void proxy.close())
    const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`

    // All commands read the same target. scrapyd-deploy needs its trailing slash, and the other commands add a second
    // slash.
    writeConfiguration('deploy', base, PASSWORD)
    const deployed = await run('scrapyd-deploy', '--version', '7')
    expect(JSON.parse(deployed.stdout)).toMatchObject({ status: 'ok', project: 'demo', version: '7' })
    expect((await run('scrapyd-client', 'projects')).stdout).toBe('demo\n')
    const pages = await Promise.all(['/', '/jobs'].map((path) => fetch(base + path, { headers: { authorization } })))
    expect(await pages[0]?.text()).toContain(`href="${prefix}/jobs"`)
    expect(await pages[1]?.text()).toContain('<h1>Jobs</h1>')
  })
})
