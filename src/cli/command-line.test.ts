import { expect, it, onTestFinished } from 'vitest'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { EXAMPLES } from '../shared/examples/operations.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, openServer, startServer } from './testing/call.ts'

it('a usage error is a JSON object for programs, and a hint to the help for people', async () => {
  for (const words of [['jobs', '--nope'], ['jobs', '--limit', 'x'], ['run', 'demo'], ['bogus']]) {
    const { code, error } = await call(words)
    expect([code, error]).toEqual([EXIT_CODES.usage, expect.stringMatching(/^scrapdeck: [^]+ --help [^]+\.\n$/)])
    const json = await call([...words, '--json'])
    expect(json.code).toBe(EXIT_CODES.usage)
    expect(JSON.parse(json.error)).toEqual({ error: { message: expect.not.stringContaining('error:') } })
  }
})

it('commands that preview by default accept --dry-run, but not together with --yes', async () => {
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  const { username, password } = engine.engine.credentials
  const url = await openServer(engine.engine)
  const directory = makeDirectory({ 'fleet.yaml': 'version: 1\nprojects: [{ name: shop, weight: 3 }]\n' })
  const run = (...words: string[]) =>
    call(words, { url, password, directory, environment: { SCRAPDECK_USERNAME: username } })
  expect(await run('apply', 'fleet.yaml', '--dry-run')).toMatchObject({
    code: EXIT_CODES.ok,
    out: expect.stringContaining('No changes made')
  })
  const both = await run('apply', 'fleet.yaml', '--dry-run', '--yes')
  expect([both.code, both.error]).toEqual([EXIT_CODES.usage, expect.stringContaining('--dry-run')])
})

it('a schedule of something not deployed is created with a warning', async () => {
  const url = await startServer((request, response) => {
    const isProject = request.url?.includes('/projects/') === true
    const isThere = request.url?.endsWith('/projects/shop') === true
    const missing = { defined: false, code: 'PROJECT_NOT_FOUND', status: 404, message: 'It is not there.', data: {} }
    response.writeHead(isProject && !isThere ? 404 : 200, { 'content-type': 'application/json' })
    if (!isProject) response.end(JSON.stringify(EXAMPLES.schedules.create.output))
    else response.end(JSON.stringify(isThere ? EXAMPLES.projects.get.output : missing))
  })
  const create = (project: string, ...spiders: string[]) =>
    call(
      [
        'schedules',
        'create',
        'x',
        '--project',
        project,
        '--every',
        '60',
        ...spiders.flatMap((one) => ['--spider', one])
      ],
      { url }
    )
  expect(await create('shop', 'prices', 'stock')).toMatchObject({ code: 0, error: '' })
  expect(await create('shop', 'prices', 'pricse')).toMatchObject({
    code: 0,
    error: 'The project shop has no spider pricse so far: the firings of this schedule fail until that is deployed.\n'
  })
  expect(await create('elsewhere', 'prices')).toMatchObject({
    code: 0,
    error: 'There is no project elsewhere so far: the firings of this schedule fail until that is deployed.\n'
  })
})

it('a single job shows what plugins changed; a failed lookup says where to look', async () => {
  const detail = EXAMPLES.jobs.get.output
  const evidence = { 'changed by quota': ['depth', 'LOG_LEVEL'], 'not asked of broken': 'no room', pid: 7 }
  const step = { ...detail.timeline[0]!, text: 'Accepted', evidence }
  const url = await startServer((request, response) => {
    const isOne = /\/jobs\/[0-9a-f]{32}$/.test(request.url ?? '')
    const rows = { jobs: [], schedules: [], nodes: [], nextBefore: null, nextAfter: null }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isOne ? { ...detail, timeline: [step] } : rows))
  })
  const { out } = await call(['jobs', detail.job.id], { url })
  expect(out.slice(out.indexOf('Accepted'))).toBe(
    `Accepted\n${' '.repeat(21)}changed by quota: depth, LOG_LEVEL\n${' '.repeat(21)}not asked of broken: no room\n`
  )
  expect((await call(['jobs', '019b000000'], { url })).error).toContain('"scrapdeck jobs" lists')
  expect((await call(['schedules', 'show', 'x'], { url })).error).toContain('"scrapdeck schedules list"')
})
