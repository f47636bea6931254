import { reporterEgg } from '../eggs.ts'
import { get, post, postMultipart } from '../http.ts'
import type { Pair } from '../pair.ts'
import type { Scenario } from './scenario.ts'

/** What clients can read: pages, logs and items (scrapyd-protocol.md, 7). */

async function runOne(pair: Pair, project: string, jobid: string): Promise<void> {
  const egg = await reporterEgg()
  await pair.ask(
    postMultipart('addversion.json', [
      ['project', project],
      ['version', '1'],
      ['egg', egg]
    ])
  )
  await pair.ask(post('schedule.json', { project, spider: 'report', jobid }))
  await pair.untilReported(`${jobid}.json`)
  await pair.settle()
}

const RANGES = [
  'bytes=0-9',
  'bytes=-10',
  'bytes=5-',
  'bytes=0-',
  'bytes=5-5',
  'bytes=-1000',
  'bytes=0-99999',
  'bytes=99999-',
  'bytes=9-2',
  'bytes=-0',
  'bytes=',
  'bytes',
  'bytes=a-b',
  'items=0-9',
  'bytes=0-1,3-4',
  'bytes= 1-2',
  'BYTES=0-1',
  'bytes=0-1, 99999-',
  'bytes=1-2-3',
  'bytes=-'
]

const items: Scenario = {
  name: 'an items file: ranges, conditions, methods',
  isShort: true,
  async run(pair) {
    await runOne(pair, 'p', 'filed')
    const path = '/items/p/report/filed.jl'
    const { theirs, ours } = await pair.ask(get(path))
    for (const range of RANGES) await pair.ask(get(path, { range }))
    await pair.ask({ method: 'HEAD', path, headers: { range: 'bytes=0-9' } })
    for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE']) await pair.ask({ method, path })
    const times = ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 01 Jan 2100 00:00:00 GMT', 'nonsense', '']
    for (const time of times) await pair.ask(get(path, { 'if-modified-since': time }))
    await pair.ask(get(path, { 'if-range': '"x"', range: 'bytes=0-4' }))
    // The time of modification differs between the sides.
    await pair.askEach((side) =>
      get(path, { 'if-modified-since': { theirs, ours }[side.name].headers['last-modified'] ?? '' })
    )
    await pair.ask(get(`${path}?x=1`))
  }
}

const logs: Scenario = {
  name: 'a log: head and tail, and what Gerapy asks for',
  async run(pair) {
    await runOne(pair, 'p', 'logged')
    const path = '/logs/p/report/logged.log'
    // The length depends on what Scrapy measured, so this compares only the start and the form of the responses.
    await pair.askForHeaders(get(path, { range: 'bytes=0-23' }))
    await pair.askForHeaders(get(path))
    await pair.askForHeaders(get(path, { range: 'bytes=-1000' }))
    await pair.askForHeaders({ method: 'HEAD', path })
    for (const suffix of ['.log.gz', '.txt', '.gz', '', '.json']) await pair.ask(get(`/logs/p/report/logged${suffix}`))
    await pair.ask(get('/logs/stats.json'))
  }
}

const emptyTrees: Scenario = {
  name: 'the listings of /logs/ and /items/ before the first job',
  needsOwnServers: true,
  async run(pair) {
    await pair.askAll(['/logs', '/logs/', '/items/'].map((path) => get(path)))
  }
}

const listings: Scenario = {
  name: 'the listings of /logs/ and /items/',
  async run(pair) {
    await runOne(pair, 'p', 'listed')
    for (const tree of ['logs', 'items']) {
      for (const path of [
        '',
        '/',
        '/p',
        '/p/',
        '/p/report',
        '/p/report/',
        '/p/none',
        '/p/none/',
        '/none/',
        '//',
        '/p//report/'
      ]) {
        await pair.ask(get(`/${tree}${path}`))
      }
      for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS']) {
        await pair.ask({ method, path: `/${tree}/p/` })
        await pair.ask({ method, path: `/${tree}` })
      }
      const outside = [
        '..',
        '../',
        '../eggs',
        '%2e%2e/',
        '%2e%2e%2feggs',
        'p/../../',
        '..%5c',
        'p/%00',
        '%ff',
        'p/report/..',
        './',
        'p/./report/',
        'p%2freport/'
      ]
      for (const path of outside) await pair.ask(get(`/${tree}/${path}`))
      await pair.ask(get(`/${tree}?x=1`))
      await pair.ask(get(`/${tree}/p?x=1`))
    }
  }
}

const pages: Scenario = {
  name: 'the pages / and /jobs behind a proxy, and their methods',
  isShort: true,
  async run(pair) {
    await pair.ask(get('/'))
    await runOne(pair, 'p', 'shown')
    const headers = { 'x-forwarded-prefix': '/base/path' }
    await pair.askAll([get('/'), get('/jobs'), get('/', headers), get('/jobs', headers)])
    await pair.askAll([
      get('/jobs', { 'x-forwarded-prefix': '"><script>' }),
      get('/jobs', { 'x-forwarded-prefix': '' })
    ])
    await pair.askAll([
      get('/jobs?x=1'),
      get('/logs', headers),
      get('/logs/p', headers),
      get('/listjobs.json', headers)
    ])
    for (const path of ['/', '/jobs']) {
      for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) await pair.ask({ method, path })
    }
    await pair.ask(get('/', { accept: 'text/html' }))
  }
}

const escapes: Scenario = {
  name: 'names that are markup, on the pages',
  async run(pair) {
    const project = `<b>&"'☃`
    await runOne(pair, project, `<i>"&'`)
    await pair.askAll([
      get('/'),
      get('/jobs'),
      get('/listjobs.json'),
      get('/items/'),
      get(`/items/${encodeURIComponent(project)}/`)
    ])
    await pair.ask(get(`/items/${encodeURIComponent(project)}/report/`))
    await pair.ask(get(`/items/${encodeURIComponent(project)}/report/${encodeURIComponent(`<i>"&'.jl`)}`))
    await pair.hold(project, '<held>')
    await pair.ask(post('schedule.json', { project, spider: 'report', jobid: '<u>' }))
    await pair.ask(get('/jobs'))
  }
}

export const fileScenarios: Scenario[] = [items, logs, emptyTrees, listings, pages, escapes]
