import { expect, test } from 'vitest'
import { planLaunch } from './launch-plan.ts'

test('the command is that of Scrapyd 1.6: settings, then LOG_FILE and FEEDS; _job first of the arguments, _version last', () => {
  const spec = {
    project: 'my shop',
    version: '1.0',
    spider: 'prices',
    jobid: 'j-1',
    settings: { LOG_LEVEL: 'INFO', LOG_FILE: 'mine' },
    args: { page: '1=2', q: '' },
    secretNames: [],
    limits: null,
    priority: 0,
    acceptedAtMs: 1
  }
  const plan = planLaunch(spec, { python: '/py', runner: '/crawl.py', egg: '/a.egg', dataDirectory: '/data' })
  expect(plan).toEqual({
    command: [
      ...['/py', '/crawl.py', '/a.egg', 'crawl', 'prices'],
      ...['-s', 'LOG_LEVEL=INFO', '-s', 'LOG_FILE=mine', '-s', 'LOG_FILE=/data/logs/my shop/prices/j-1.log'],
      ...['-s', 'FEEDS={"file:///data/items/my%20shop/prices/j-1.jl":{"format":"jsonlines"}}'],
      ...['-a', '_job=j-1', '-a', 'page=1=2', '-a', 'q=', '-a', '_version=1.0']
    ],
    environment: { SCRAPY_PROJECT: 'my shop', SCRAPYD_EGG_VERSION: '1.0' },
    workingDirectory: '/data/work/my shop',
    logFile: '/data/logs/my shop/prices/j-1.log',
    directories: ['/data/logs/my shop/prices', '/data/items/my shop/prices', '/data/work/my shop']
  })
})
