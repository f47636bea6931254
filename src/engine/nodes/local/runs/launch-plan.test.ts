import { expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../../../shared/testing/ids.ts'
import { WITHOUT_FILES } from '../../../access/run-rights.ts'
import { itemsFileOf, needsOwnPython, planLaunch, type RunDirectories } from './launch-plan.ts'
import type { RunSpec } from './run-directory.ts'

const SPEC: RunSpec = {
  project: aProjectName('my shop'),
  version: aVersionName('1.0'),
  spider: 'prices',
  jobid: 'j-1',
  settings: { LOG_LEVEL: 'INFO', LOG_FILE: 'mine', API_KEY: 'hush' },
  args: { page: '1=2', q: '' },
  isVersionAsked: true,
  secretNames: ['API_KEY', 'constructor'],
  limits: null,
  priority: 0,
  acceptedAtMs: 1
}
const DIRECTORIES: RunDirectories = {
  logsDirectory: '/data/logs',
  itemsDirectory: '/data/items',
  jobsDirectory: null,
  workDirectory: '/data/work'
}

function aPlan(spec: Partial<RunSpec> = {}, directories: Partial<RunDirectories> = {}) {
  const all = { python: '/py', source: { egg: '/a.egg' }, directories: { ...DIRECTORIES, ...directories } }
  return planLaunch({ ...SPEC, ...spec }, all)
}

test('a run is planned as in Scrapyd 1.6: its own settings override those of the user, _job is first, _version last', () => {
  expect(aPlan()).toEqual({
    id: 'j-1',
    python: '/py',
    project: 'my shop',
    spider: 'prices',
    arguments: [
      ...['crawl', 'prices', '-s', 'LOG_LEVEL=INFO', '-s', 'LOG_FILE=/data/logs/my shop/prices/j-1.log'],
      ...['-s', 'API_KEY=hush', '-s', 'FEEDS={"file:///data/items/my%20shop/prices/j-1.jl": {"format": "jsonlines"}}'],
      ...['-a', '_job=j-1', '-a', 'page=1=2', '-a', 'q=', '-a', '_version=1.0']
    ],
    source: { egg: '/a.egg' },
    environment: { SCRAPY_PROJECT: 'my shop', SCRAPYD_EGG_VERSION: '1.0' },
    workingDirectory: '/data/work/my shop',
    logFile: '/data/logs/my shop/prices/j-1.log',
    directories: ['/data/logs/my shop/prices', '/data/items/my shop/prices', '/data/work/my shop'],
    secrets: ['hush'],
    feed: { url: 'file:///data/items/my%20shop/prices/j-1.jl', asked: null },
    resourceLimits: null
  })
})

test('a spider gets no version that its job did not request', () => {
  const plan = aPlan({ isVersionAsked: false })
  expect(plan.arguments.at(-1)).toBe('q=')
  expect(plan.environment).toEqual({ SCRAPY_PROJECT: 'my shop' })
})

test('variables of the job are set, secret ones are masked in logs, and ours cannot be overridden', () => {
  const env = { PROXY: 'http://proxy', TOKEN: 'tulip', SCRAPY_PROJECT: 'other' }
  const plan = aPlan({ env, secretNames: ['TOKEN'] })
  expect(plan.environment).toMatchObject({ PROXY: 'http://proxy', TOKEN: 'tulip', SCRAPY_PROJECT: 'my shop' })
  expect(plan.secrets).toEqual(['tulip'])
})

test('a run has no feed without an items directory, and a JOBDIR if there is a directory for it', () => {
  const plan = aPlan(
    { settings: { JOBDIR: 'mine', A: '1' }, args: {} },
    { itemsDirectory: null, jobsDirectory: '/jobs' }
  )
  expect(plan.arguments).toEqual([
    ...['crawl', 'prices', '-s', 'JOBDIR=/jobs/my shop/prices/j-1', '-s', 'A=1'],
    ...['-s', 'LOG_FILE=/data/logs/my shop/prices/j-1.log', '-a', '_job=j-1', '-a', '_version=1.0']
  ])
  expect(plan.directories).toEqual(['/data/logs/my shop/prices', '/data/work/my shop'])
})

test("a job's own feeds are kept beside ours, which is in the arguments as with Scrapyd", () => {
  const plan = aPlan({ settings: { FEEDS: '{"own.json": {}}' }, args: {} })
  expect(plan.feed).toEqual({ url: 'file:///data/items/my%20shop/prices/j-1.jl', asked: '{"own.json": {}}' })
  expect(plan.arguments[3]).toMatch(/^FEEDS=\{"file:/)
})

test('a run without the right to read files is marked, and its arguments do not show that', () => {
  const plan = aPlan({ settings: { ...WITHOUT_FILES }, args: {} })
  expect([plan.isWithoutFiles, plan.arguments.join()]).toEqual([true, expect.not.stringContaining('HANDLERS')])
  const chosen = aPlan({ settings: { DOWNLOAD_HANDLERS_BASE: '{}' }, args: {} })
  expect([chosen.isWithoutFiles, chosen.arguments[3]]).toEqual([undefined, 'DOWNLOAD_HANDLERS_BASE={}'])
})

test.each([
  ['s3://bucket/pre?x=1#y', 's3://bucket/pre/p/s/j.jl?x=1#y', null],
  ['s3://bucket', 's3://bucket/p/s/j.jl', null],
  ['FTP://me@host/a/', 'ftp://me@host/a/p/s/j.jl', null],
  ['file:///var/items?x=1#y', 'file:///var/items/p/s/j.jl', '/var/items/p/s/j.jl'],
  ["/var/it(e)ms' ü:&", 'file:///var/it%28e%29ms%27%20%C3%BC%3A%26/p/s/j.jl', "/var/it(e)ms' ü:&/p/s/j.jl"]
])('items of %s go to %s', (itemsDirectory, url, file) => {
  const run = { project: aProjectName('p'), spider: 's', jobid: 'j' }
  const feeds = aPlan(run, { itemsDirectory }).arguments.find((word) => word.startsWith('FEEDS='))
  expect(feeds).toBe(`FEEDS={"${url}": {"format": "jsonlines"}}`)
  expect(itemsFileOf(itemsDirectory, run)).toBe(file)
})

test('a run needs a fresh Python if one of its variables takes effect only at the start of Python', () => {
  expect(needsOwnPython(aPlan())).toBe(false)
  expect(
    needsOwnPython(aPlan({ env: { TZ: 'UTC', HTTP_PROXY: 'http://proxy', LANGUAGE: 'de', MY_PYTHON: '3' } }))
  ).toBe(false)
  for (const name of ['PYTHONPATH', 'PYTHONHASHSEED', 'LD_PRELOAD', 'LC_ALL', 'LANG', 'OPENSSL_CONF']) {
    expect(needsOwnPython(aPlan({ env: { [name]: '1' } })), name).toBe(true)
  }
})
