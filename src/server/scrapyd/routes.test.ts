import { createHash, randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { openTestApp } from '../testing/test-app.ts'
import { formatLocalTime } from './describe-jobs.ts'
import type { ScrapydEndpointSettings } from './settings.ts'

const SHOP = aProjectName('shop')

const EGG = Buffer.concat([Buffer.from('PK'), randomBytes(1000)])
const FORM = 'application/x-www-form-urlencoded'

function openShop(scrapyd: Partial<ScrapydEndpointSettings> = {}) {
  const test = openTestApp({ scrapyd })
  test.engine.versions.set('shop', new Map([['1', ['quotes', 'slow']]]))
  const post = (name: string, payload: string, headers: Record<string, string> = {}) =>
    test.ask({ method: 'POST', url: `/${name}`, headers: { 'content-type': FORM, ...headers }, payload })
  return { ...test, post, get: (url: string) => test.ask({ url }) }
}

function multipart(fields: [string, Buffer | string][]): Pick<InjectOptions, 'payload' | 'headers'> {
  const parts = fields.flatMap(([name, value]) => [
    Buffer.from(`--bnd\r\nContent-Disposition: form-data; name="${name}"; filename="project.egg"\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n')
  ])
  return {
    payload: Buffer.concat([...parts, Buffer.from('--bnd--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=bnd' }
  }
}

describe('responses, byte for byte', () => {
  it('daemonstatus.json', async () => {
    const response = await openShop().get('/daemonstatus.json')
    expect(response.body).toBe('{"pending": 0, "running": 0, "finished": 0, "status": "ok", "node_name": "fake"}\n')
    expect(response.headers['content-type']).toBe('application/json')
    expect(response.headers['content-length']).toBe(String(response.body.length))
    expect(response.headers['access-control-allow-origin']).toBeUndefined()
  })

  it('addversion.json', async () => {
    const { ask, engine } = openShop()
    const form = multipart([
      ['project', 'new'],
      ['version', '1.0.1'],
      ['egg', EGG]
    ])
    const response = await ask({ method: 'POST', url: '/addversion.json', ...form })
    expect(response.body).toBe(
      '{"project": "new", "version": "1.0.1", "spiders": 2, "status": "ok", "node_name": "fake"}\n'
    )
    const sha256 = createHash('sha256').update(EGG).digest('hex')
    expect(engine.uploads).toEqual([{ name: 'new/1.0.1', sha256, sizeBytes: EGG.length }])
  })

  it('addversion.json says that the project stays pinned to another version', async () => {
    const { ask, engine } = openShop()
    engine.scrapyd.addVersion = async () => ({ spiders: 2, pinned: aVersionName('1.0.0') })
    const form = multipart([
      ['project', 'new'],
      ['version', '1.0.1'],
      ['egg', EGG]
    ])
    expect((await ask({ method: 'POST', url: '/addversion.json', ...form })).json()).toMatchObject({
      status: 'ok',
      version: '1.0.1',
      spiders: 2,
      warning: 'new stays pinned to version 1.0.0: jobs without _version run that one'
    })
  })

  it('schedule.json', async () => {
    const { post, engine } = openShop()
    const payload =
      'project=shop&spider=quotes&_version=1&jobid=a-1&priority=2.5&setting=A%3D1&setting=B%3Dx%3Dy&setting=A=2&tag=humor&tag=2'
    expect((await post('schedule.json', payload)).body).toBe('{"jobid": "a-1", "status": "ok", "node_name": "fake"}\n')
    expect(engine.scheduled).toEqual([
      {
        project: 'shop',
        spider: 'quotes',
        version: '1',
        jobid: 'a-1',
        priority: 2.5,
        settings: { A: '2', B: 'x=y' },
        args: { tag: 'humor' }
      }
    ])
  })

  it('cancel.json and status.json', async () => {
    const { post, get } = openShop()
    await post('schedule.json', 'project=shop&spider=quotes&jobid=a-1')
    expect((await get('/status.json?job=a-1')).body).toBe(
      '{"currstate": "pending", "status": "ok", "node_name": "fake"}\n'
    )
    expect((await post('cancel.json', 'project=shop&job=a-1')).body).toBe(
      '{"prevstate": "pending", "status": "ok", "node_name": "fake"}\n'
    )
    expect((await post('cancel.json', 'project=shop&job=a-1&signal=9')).body).toBe(
      '{"prevstate": null, "status": "ok", "node_name": "fake"}\n'
    )
  })

  it('the lists', async () => {
    const { get, engine } = openShop()
    engine.versions.set('日本', new Map())
    expect((await get('/listprojects.json')).body).toBe(
      '{"projects": ["shop", "\\u65e5\\u672c"], "status": "ok", "node_name": "fake"}\n'
    )
    expect((await get('/listversions.json?project=shop')).body).toBe(
      '{"versions": ["1"], "status": "ok", "node_name": "fake"}\n'
    )
    expect((await get('/listversions.json?project=none')).body).toBe(
      '{"versions": [], "status": "ok", "node_name": "fake"}\n'
    )
    expect((await get('/listspiders.json?project=shop&version=ignored')).body).toBe(
      '{"spiders": ["quotes", "slow"], "status": "ok", "node_name": "fake"}\n'
    )
  })

  it('listjobs.json', async () => {
    const { get, engine } = openShop()
    const at = new Date(2026, 10, 19, 18, 10, 0, 123).getTime()
    const job = { project: SHOP, spider: 'quotes' }
    engine.jobs.pending.push({ ...job, jobid: 'p', version: null, settings: { A: '1' }, args: { tag: 'x' } })
    engine.jobs.running.push({ ...job, jobid: 'r', pid: 42, startedAtMs: at, logFile: 'r.log', itemsFile: 'r.jl' })
    engine.jobs.finished.push({
      ...job,
      jobid: 'f',
      startedAtMs: at - 123,
      endedAtMs: at,
      logFile: null,
      itemsFile: null
    })
    expect((await get('/listjobs.json?project=shop')).body).toBe(
      '{"pending": [{"id": "p", "project": "shop", "spider": "quotes", "version": null, "settings": {"A": "1"}, "args": {"tag": "x"}}], ' +
        '"running": [{"id": "r", "project": "shop", "spider": "quotes", "pid": 42, "start_time": "2026-11-19 18:10:00.123000", ' +
        '"log_url": "/logs/shop/quotes/r.log", "items_url": "/items/shop/quotes/r.jl"}], ' +
        '"finished": [{"id": "f", "project": "shop", "spider": "quotes", "start_time": "2026-11-19 18:10:00.000000", ' +
        '"end_time": "2026-11-19 18:10:00.123000", "log_url": null, "items_url": null}], "status": "ok", "node_name": "fake"}\n'
    )
  })

  it('delversion.json and delproject.json', async () => {
    const { post, engine } = openShop()
    expect((await post('delversion.json', 'project=shop&version=1')).body).toBe(
      '{"status": "ok", "node_name": "fake"}\n'
    )
    expect((await post('delproject.json', 'project=shop')).body).toBe('{"status": "ok", "node_name": "fake"}\n')
    expect(engine.versions.size).toBe(0)
  })

  it('times are local, and always have a fraction: SpiderKeeper fails on one without', () => {
    expect(formatLocalTime(new Date(2026, 0, 2, 3, 4, 5, 0).getTime())).toBe('2026-01-02 03:04:05.000000')
    expect(formatLocalTime(new Date(2026, 0, 2, 3, 4, 5, 6).getTime())).toBe('2026-01-02 03:04:05.006000')
    expect(formatLocalTime(null)).toBeNull()
  })
})

describe('errors with the messages of Scrapyd 1.6, with HTTP 200', () => {
  it.each([
    ['schedule.json', '', "'project' parameter is required"],
    ['schedule.json', 'project=shop', "'spider' parameter is required"],
    ['schedule.json', 'project=none&spider=quotes', "project 'none' not found"],
    ['schedule.json', 'project=shop&spider=quotes&_version=9', "version '9' not found"],
    ['schedule.json', 'project=shop&spider=none', "spider 'none' not found"],
    [
      'schedule.json',
      'project=shop&spider=quotes&priority=x',
      "priority is invalid: could not convert string to float: b'x'"
    ],
    [
      'schedule.json',
      'project=shop&spider=quotes&setting=A%3D1&setting=B',
      'ValueError: dictionary update sequence element #1 has length 1; 2 is required'
    ],
    [
      'schedule.json',
      'project=shop&spider=quotes&_job=1',
      "TypeError: scrapyd.scheduler.SpiderScheduler.schedule() got multiple values for keyword argument '_job'"
    ],
    [
      'schedule.json',
      'project=shop&spider=quotes&name=1&self=1',
      "TypeError: SpiderScheduler.schedule() got multiple values for argument 'self'"
    ],
    [
      'schedule.json',
      'project=shop&spider=quotes&name=1',
      "TypeError: SqliteSpiderQueue.add() got multiple values for argument 'name'"
    ],
    // Scrapyd looks for the project, the version and the spider before it reads settings and arguments.
    ['schedule.json', 'project=none&spider=quotes&setting=B&x=%FF', "project 'none' not found"],
    ['schedule.json', 'project=shop&spider=quotes&jobid=a/b', 'DirectoryTraversalError: a/b'],
    ['schedule.json', 'project=shop&spider=quotes&jobid=..', 'DirectoryTraversalError: ..'],
    [
      'schedule.json',
      `project=shop&spider=quotes&jobid=${'j'.repeat(201)}`,
      'jobid is invalid: it is longer than 200 bytes'
    ],
    [
      'schedule.json',
      'project=%C3(&spider=quotes',
      "project is invalid: 'utf-8' codec can't decode byte 0xc3 in position 0: invalid continuation byte"
    ],
    [
      'schedule.json',
      'project=shop&spider=quotes&tag=%FF',
      "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    ],
    ['cancel.json', 'project=none&job=a', "project 'none' not found"],
    ['cancel.json', 'project=shop', "'job' parameter is required"],
    ['addversion.json', 'project=a&version=1', "'egg' parameter is required"],
    [
      'addversion.json',
      'project=a&version=1&egg=x',
      'egg is not a ZIP file (if using curl, use egg=@path not egg=path)'
    ],
    ['addversion.json', 'project=..%2Fp&version=1&egg=PK', 'DirectoryTraversalError: ../p'],
    ['addversion.json', 'project=a%00&version=1&egg=PK', 'ValueError: embedded null byte'],
    ['addversion.json', 'project=a&version=&egg=PK', 'version is invalid: it is empty'],
    ['delversion.json', 'project=shop&version=9', "version '9' not found"],
    ['delversion.json', 'project=none&version=9', "version '9' not found"],
    ['delproject.json', 'project=..', 'DirectoryTraversalError: ..'],
    ['delproject.json', 'project=none', "project 'none' not found"],
    // In Scrapyd, these two delete every egg.
    ['delproject.json', 'project=', 'DirectoryTraversalError: '],
    ['delproject.json', 'project=.', 'DirectoryTraversalError: .']
  ])('%s %s', async (name, payload, message) => {
    const response = await openShop().post(name, payload)
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe(`{"status": "error", "message": ${JSON.stringify(message)}, "node_name": "fake"}\n`)
  })

  it('our own errors keep our messages; bugs reveal nothing and are logged', async () => {
    const { get, engine, logged } = openShop()
    engine.scrapyd.listProjects = async () => {
      throw new ScrapdeckError('STOPPING', 'Scrapdeck is stopping.')
    }
    expect((await get('/listprojects.json')).json().message).toBe('Scrapdeck is stopping.')
    engine.scrapyd.listProjects = async () => {
      throw new Error('secret detail')
    }
    expect((await get('/listprojects.json')).body).not.toContain('secret')
    expect(logged.join()).toContain('secret detail')
  })
})

describe('requests', () => {
  it('OPTIONS lists the methods and has no body', async () => {
    const { ask } = openShop()
    const response = await ask({ method: 'OPTIONS', url: '/schedule.json' })
    expect([response.statusCode, response.headers.allow, response.body]).toEqual([204, 'OPTIONS, HEAD, POST', ''])
  })

  it('HEAD has the content length of GET and no body', async () => {
    const { ask, get } = openShop()
    const response = await ask({ method: 'HEAD', url: '/daemonstatus.json' })
    expect(response.body).toBe('')
    expect(response.headers['content-length']).toBe((await get('/daemonstatus.json')).headers['content-length'])
  })

  it.each([
    ['GET', '/schedule.json', "b'POST'"],
    ['POST', '/daemonstatus.json', "b'GET'"],
    ['DELETE', '/daemonstatus.json', "b'GET'"],
    ['PUT', '/schedule.json', "b'POST'"]
  ] as const)('%s %s is not supported', async (method, url, last) => {
    const response = await openShop().ask({ method, url })
    expect([response.statusCode, response.json().message]).toEqual([
      200,
      `UnsupportedMethod: Expected one of [b'HEAD', b'OPTIONS', ${last}]`
    ])
  })

  it('POST accepts all parameters in the query', async () => {
    const { ask } = openShop()
    const response = await ask({ method: 'POST', url: '/schedule.json?project=shop;spider=quotes&jobid=q' })
    expect(response.json()).toEqual({ jobid: 'q', status: 'ok', node_name: 'fake' })
  })

  it('a JSON body is ignored, so the parameters are missing', async () => {
    const { ask } = openShop()
    const payload = JSON.stringify({ project: 'shop', spider: 'quotes' })
    const headers = { 'content-type': 'application/json' }
    const response = await ask({ method: 'POST', url: '/schedule.json', headers, payload })
    expect(response.json().message).toBe("'project' parameter is required")
  })

  it('an egg can be percent-encoded, as ScrapydWeb sends it', async () => {
    const { post, engine } = openShop()
    const egg = [...EGG].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    expect((await post('addversion.json', `project=a&version=1&egg=${egg}`)).json().status).toBe('ok')
    expect(engine.uploads[0]?.sha256).toBe(createHash('sha256').update(EGG).digest('hex'))
  })

  it('a broken multipart body gets an empty 400 and closes the connection', async () => {
    const { ask } = openShop()
    const headers = { 'content-type': 'multipart/form-data' }
    const response = await ask({ method: 'POST', url: '/addversion.json', headers, payload: 'x' })
    expect([response.statusCode, response.body, response.headers.connection]).toEqual([400, '', 'close'])
  })

  it('doubled slashes are collapsed, as scrapyd-client needs it', async () => {
    expect((await openShop().get('//listprojects.json')).json().projects).toEqual(['shop'])
  })

  it.each(['/daemonstatus.json/', '/daemonstatus.json/x', '/none.json'])('%s does not exist', async (url) => {
    const response = await openShop().get(url)
    expect([response.statusCode, response.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
  })
})

describe('/logs/', () => {
  function openLogs() {
    const shop = openShop()
    shop.engine.files.logs.set('shop/quotes/a-1.log', Buffer.from('0123456789'))
    shop.engine.files.logs.set('<b>/s/j k.log', Buffer.alloc(5000))
    return shop
  }

  it('sends a whole log as plain text, in UTF-8', async () => {
    const response = await openLogs().get('/logs/shop/quotes/a-1.log')
    expect(response.body).toBe('0123456789')
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'accept-ranges': 'bytes',
      'content-length': '10'
    })
  })

  it('sends a long log in several pieces', async () => {
    const { get, engine } = openLogs()
    const log = randomBytes(3_000_000)
    engine.files.logs.set('shop/quotes/long.log', log)
    const response = await get('/logs/shop/quotes/long.log')
    expect(response.rawPayload.equals(log)).toBe(true)
  })

  it.each([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-1000', '0123456789', 'bytes 0-9/10'],
    ['bytes=8-', '89', 'bytes 8-9/10']
  ])('sends the range %s', async (range, body, contentRange) => {
    const response = await openLogs().ask({ url: '/logs/shop/quotes/a-1.log', headers: { range } })
    expect([response.statusCode, response.body, response.headers['content-range']]).toEqual([206, body, contentRange])
  })

  it('responds 416 for a range beyond the end', async () => {
    const response = await openLogs().ask({ url: '/logs/shop/quotes/a-1.log', headers: { range: 'bytes=10-' } })
    expect([response.statusCode, response.headers['content-range']]).toEqual([416, 'bytes */10'])
  })

  it('HEAD returns the size', async () => {
    const response = await openLogs().ask({ method: 'HEAD', url: '/logs/shop/quotes/a-1.log' })
    expect([response.statusCode, response.body, response.headers['content-length']]).toEqual([200, '', '10'])
  })

  it.each(['script', 'style', 'worker', 'serviceworker', 'iframe', 'object', 'font'])(
    'a file cannot be part of a page, not even of our own: %s',
    async (destination) => {
      const { ask } = openLogs()
      const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': destination }
      expect((await ask({ url: '/logs/shop/quotes/a-1.log', headers })).statusCode).toBe(403)
      for (const harmless of ['document', 'empty', 'image', 'video']) {
        const shown = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': harmless }
        expect((await ask({ url: '/logs/shop/quotes/a-1.log', headers: shown })).statusCode).toBe(200)
      }
    }
  )

  it('lists projects, spiders and runs with escaped names', async () => {
    const { get } = openLogs()
    const projects = (await get('/logs/')).body
    expect(projects).toContain('<h1>Directory listing for /logs/</h1>')
    expect(projects).toContain('<td><a href="%3Cb%3E/">&lt;b&gt;/</a></td>')
    const runs = await get('/logs/%3Cb%3E/s/')
    expect(runs.body).toContain('<td><a href="j%20k.log">j k.log</a></td>\n    <td>4K</td>')
  })

  it('redirects to the path with a trailing slash', async () => {
    const { get } = openLogs()
    expect((await get('/logs')).headers.location).toBe('/logs/')
    expect((await get('/logs/shop')).headers.location).toBe('/logs/shop/')
  })

  it.each([
    '/logs/none/',
    '/logs/shop/quotes/none.log',
    '/logs/shop/quotes/a-1.json',
    '/logs/shop/quotes/a-1.log/',
    '/logs/shop/quotes/x/a-1.log',
    '/logs/shop/quotes%2fa-1.log',
    '/logs/shop/%00/',
    '/logs/shop/..%5c/'
  ])('%s does not exist', async (url) => {
    expect((await openLogs().get(url)).statusCode).toBe(404)
  })
})

describe('files', () => {
  const AT = 'Fri, 02 Jan 2026 03:04:06 GMT'
  function openFiles() {
    const shop = openShop()
    shop.engine.files.logs.set('shop/quotes/a.log', Buffer.from('0123456789'))
    shop.engine.files.logs.set('stats.json', Buffer.from('{}'))
    shop.engine.files.items.set('shop/quotes/a.jl', Buffer.from('{"a": 1}\n'))
    return shop
  }

  it('a file written by a spider cannot run scripts, send forms or pose as one of our pages', async () => {
    const { ask, engine } = openFiles()
    engine.files.items.set(
      'a.html',
      Buffer.from('<form action="/delproject.json" method="post"><button>Win</button></form>')
    )
    const { headers } = await ask({ url: '/items/a.html' })
    expect(String(headers['content-security-policy']).split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", 'sandbox', "form-action 'none'", "base-uri 'none'"])
    )
    // Each type is what Scrapyd 1.6 returned for a file with this name.
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  it.each([
    ['a.jl', 'text/plain; charset=utf-8', undefined],
    ['a.JSON', 'application/json', undefined],
    ['a.log.gz', 'text/plain; charset=utf-8', 'gzip'],
    ['a.tar.gz', 'application/x-tar', 'gzip'],
    ['a.bz2', 'text/plain; charset=utf-8', 'bzip2'],
    ['a.xml', 'application/xml', undefined],
    ['.json', 'text/plain; charset=utf-8', undefined],
    ['noext', 'text/plain; charset=utf-8', undefined]
  ])('%s has its type', async (name, type, encoding) => {
    const { ask, engine } = openFiles()
    engine.files.items.set(name, Buffer.from('x'))
    const { headers } = await ask({ method: 'HEAD', url: `/items/${name}` })
    expect([headers['content-type'], headers['content-encoding'], headers['content-length']]).toEqual([
      type,
      encoding,
      '1'
    ])
  })

  it.each([
    [AT, 304],
    ['Fri, 02 Jan 2026 03:04:05 GMT', 200],
    ['Friday, 02-Jan-26 03:04:06 GMT', 304],
    ['garbage', 200]
  ])('respond to If-Modified-Since %s with %s', async (since, status) => {
    const response = await openFiles().ask({ url: '/items/shop/quotes/a.jl', headers: { 'if-modified-since': since } })
    expect([response.statusCode, response.headers['last-modified']]).toEqual([status, AT])
  })

  it('HEAD describes the whole file even if it has a range', async () => {
    const headers = { range: 'bytes=0-3' }
    const response = await openFiles().ask({ method: 'HEAD', url: '/logs/shop/quotes/a.log', headers })
    expect([response.statusCode, response.headers['content-length']]).toEqual([200, '10'])
  })

  it('a directory without a trailing slash redirects to it, with its query and a readable page', async () => {
    const response = await openFiles().get('/items/shop?a=1&b')
    expect([response.statusCode, response.headers.location]).toEqual([302, '/items/shop/?a=1&b'])
    expect(response.body).toBe(`
<html>
    <head>
        <meta http-equiv="refresh" content="0;URL=/items/shop/?a=1&amp;b">
    </head>
    <body bgcolor="#FFFFFF" text="#000000">
    <a href="/items/shop/?a=1&amp;b">click here</a>
    </body>
</html>
`)
  })

  it('a listing has the rows that ScrapydWeb parses', async () => {
    const { body } = await openFiles().get('/logs/?x=%3C')
    const at = formatLocalTime(Date.UTC(2026, 0, 2, 3, 4))!.slice(0, 16)
    expect(body).toContain('<h1>Directory listing for /logs/?x=&lt;</h1>')
    expect(body).toContain(`<tr class="odd">
    <td><a href="shop/">shop/</a></td>
    <td></td>
    <td>${at}</td>
    <td>[Directory]</td>
    <td></td>
</tr>
<tr class="even">
    <td><a href="stats.json">stats.json</a></td>
    <td>2B</td>
    <td>${at}</td>
    <td>[application/json]</td>
    <td></td>
</tr>
`)
  })

  it('missing files and unsupported methods get the pages of Twisted', async () => {
    const { ask, get } = openFiles()
    const missing = await get('/logs/none')
    expect([missing.statusCode, missing.body]).toEqual([
      404,
      '\n<html>\n  <head><title>404 - No Such Resource</title></head>\n  <body>\n    <h1>No Such Resource</h1>\n    <p>File not found.</p>\n  </body>\n</html>\n'
    ])
    const posted = await ask({ method: 'POST', url: '/logs/shop/quotes/a.log?x=1' })
    expect([posted.statusCode, posted.headers.allow]).toEqual([405, 'HEAD, GET'])
    expect(posted.body).toContain(
      '<p>Your browser approached me (at /logs/shop/quotes/a.log) with the method "POST".  I only allow the methods HEAD, GET here.</p>'
    )
    const deleted = await ask({ method: 'DELETE', url: '/items/shop' })
    expect([deleted.statusCode, deleted.body]).toEqual([
      501,
      expect.stringContaining("I don't know how to treat a DELETE request.")
    ])
    expect((await ask({ method: 'DELETE', url: '/items/shop/' })).statusCode).toBe(200)
  })
})

describe('pages', () => {
  const at = new Date(2026, 10, 19, 18, 10, 0, 123).getTime()

  function openJobs(settings: Parameters<typeof openShop>[0] = {}) {
    const shop = openShop(settings)
    const job = { project: SHOP, spider: 'quotes' }
    const files = { logFile: 'r.log', itemsFile: null }
    shop.engine.jobs.pending.push({ ...job, jobid: '<p>', version: null, settings: {}, args: {} })
    shop.engine.jobs.running.push({ ...job, jobid: 'r', pid: 42, startedAtMs: at, ...files })
    shop.engine.jobs.finished.push({ ...job, jobid: 'f', startedAtMs: at, endedAtMs: at + 93_784_000, ...files })
    return shop
  }

  it('/jobs lets browsers send the origin of its Cancel buttons', async () => {
    expect((await openJobs().get('/jobs')).headers['referrer-policy']).toBe('same-origin')
  })

  it('/jobs has a row for each job in the format that ScrapydWeb parses', async () => {
    const { body, headers } = await openJobs().get('/jobs')
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body).toContain('<h1>Jobs</h1>')
    // Parses the page like ScrapydWeb (scrapyd-protocol.md, 7.4).
    const rows = [...body.replace(/<thead>.*?<\/thead>/s, '').matchAll(/<tr>\s*((?:<td>.*?<\/td>\s*)+)<\/tr>/gs)].map(
      (row) => [...row[1]!.matchAll(/<td>(.*?)<\/td>/gs)].map((cell) => cell[1]!)
    )
    expect(rows.map((cells) => cells.slice(0, 9))).toEqual([
      ['shop', 'quotes', '&lt;p&gt;', '', '', '', '', '', ''],
      [
        'shop',
        'quotes',
        'r',
        '42',
        '2026-11-19 18:10:00',
        expect.any(String),
        '',
        '<a href="/logs/shop/quotes/r.log">Log</a>',
        ''
      ],
      [
        'shop',
        'quotes',
        'f',
        '',
        '2026-11-19 18:10:00',
        '1 day, 2:03:04',
        '2026-11-20 20:13:04',
        '<a href="/logs/shop/quotes/r.log">Log</a>',
        ''
      ]
    ])
    expect(rows[0]![9]).toMatch(/^\n *<form method="post" [^>]* action="\/cancel.json">\n.*value="&lt;p&gt;"/s)
  })

  it('the path prefix that a proxy removed is added to every link', async () => {
    const headers = { 'x-forwarded-prefix': '/tools/deck-1' }
    const { ask } = openJobs()
    expect((await ask({ url: '/jobs', headers })).body).toContain('action="/tools/deck-1/cancel.json"')
    expect((await ask({ url: '/jobs', headers })).body).toContain('href="/tools/deck-1/logs/shop/quotes/r.log"')
    expect((await ask({ url: '/', headers })).body).toContain('<a href="/tools/deck-1/jobs">Jobs</a>')
    const other = openJobs({ prefixHeader: 'X-Base' })
    expect((await other.ask({ url: '/', headers: { 'x-base': '/deck' } })).body).toContain('href="/deck/items/"')
  })

  it.each(['/a"b', '//evil.example', 'https://evil.example', 'javascript:alert(1)', '/a/../..//b', '/x'.repeat(101)])(
    'a prefix that is not a plain path is ignored: %s',
    async (prefix) => {
      const { ask } = openJobs()
      const headers = { 'x-forwarded-prefix': prefix }
      expect((await ask({ url: '/', headers })).body).toContain('<a href="/jobs">Jobs</a>')
      expect((await ask({ url: '/jobs', headers })).body).toContain('href="/logs/shop/quotes/r.log"')
    }
  )

  it('a disabled service does not exist, nor do file trees without a directory', async () => {
    const shop = openJobs({ disabledServices: new Set(['cancel.json']), hasItems: false, hasLogs: false })
    expect((await shop.post('cancel.json', 'project=shop&job=r')).statusCode).toBe(404)
    const { body } = await shop.get('/jobs')
    expect(body).not.toContain('Cancel')
    expect(body).not.toContain('<th>Items</th>')
    expect(body).not.toContain('/logs/')
    expect((await shop.get('/logs/')).body).toContain('Sorry. No luck finding that resource.')
    expect((await shop.get('/items/')).statusCode).toBe(404)
    expect((await shop.get('/')).body).not.toContain('/items/')
    expect((await shop.get('/listjobs.json')).json().running[0]).toMatchObject({ log_url: null, items_url: null })
  })

  it('where no node can list spiders, the error says so in Scrapyd’s form, with status 200', async () => {
    const shop = openShop()
    shop.engine.scrapyd.listSpiders = async () => {
      throw new ScrapdeckError('SPIDERS_UNKNOWN', 'The spiders of version 1 of shop are not known')
    }
    const response = await shop.get('/listspiders.json?project=shop')
    expect([response.statusCode, response.body]).toEqual([
      200,
      '{"status": "error", "message": "The spiders of version 1 of shop are not known", "node_name": "fake"}\n'
    ])
  })

  it('node_name is the configured name; with debug on, errors are tracebacks', async () => {
    const shop = openShop({ nodeName: 'deck ü', debug: true })
    expect((await shop.get('/daemonstatus.json')).json().node_name).toBe('deck ü')
    const response = await shop.get('/listspiders.json?project=none')
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/html'])
    expect(response.body).toMatch(/^Traceback \(most recent call last\):\n.*200 project 'none' not found\n$/s)
  })

  it.each(['/', '/jobs'])('%s supports only GET and HEAD', async (url) => {
    const { ask, get } = openJobs()
    expect((await ask({ method: 'POST', url })).statusCode).toBe(405)
    expect((await ask({ method: 'PUT', url })).statusCode).toBe(501)
    const head = await ask({ method: 'HEAD', url })
    expect([head.body, head.headers['content-length']]).toEqual(['', (await get(url)).headers['content-length']])
  })
})

describe('signals', () => {
  it.each([
    ['', null],
    ['&signal=INT', 'INT'],
    ['&signal=STOP', 'STOP'],
    ['&signal=9', 9],
    ['&signal=0', 0]
  ] as const)('a cancel with %o sends %o', async (extra, sent) => {
    const { post, engine } = openShop()
    const files = { logFile: null, itemsFile: null }
    engine.jobs.running.push({ project: SHOP, spider: 'slow', jobid: 'r', pid: 1, startedAtMs: 1, ...files })
    expect((await post('cancel.json', `project=shop&job=r${extra}`)).json().prevstate).toBe('running')
    expect(engine.signals).toEqual([sent])
  })

  it.each([
    ['SIGINT', "TypeError: 'str' object cannot be interpreted as an integer"],
    ['', "TypeError: 'str' object cannot be interpreted as an integer"],
    ['-1', "TypeError: 'str' object cannot be interpreted as an integer"],
    ['99', 'OSError: [Errno 22] Invalid argument'],
    ['99999999999999999999', 'OverflowError: Python int too large to convert to C ssize_t']
  ])('%o is invalid, which is reported only for a running job', async (signal, message) => {
    const { post, engine } = openShop()
    expect((await post('cancel.json', `project=shop&job=r&signal=${signal}`)).json().prevstate).toBeNull()
    const files = { logFile: null, itemsFile: null }
    engine.jobs.running.push({ project: SHOP, spider: 'slow', jobid: 'r', pid: 1, startedAtMs: 1, ...files })
    expect((await post('cancel.json', `project=shop&job=r&signal=${signal}`)).json().message).toBe(message)
  })
})

describe('sizes', () => {
  const long = 'a'.repeat(200_000)

  it.each([
    ['schedule.json', `project=${long}&spider=quotes`, 'project'],
    ['schedule.json', `project=shop&spider=${long}`, 'spider'],
    ['schedule.json', `project=shop&spider=quotes&_version=${long}`, '_version'],
    ['schedule.json', `project=shop&spider=quotes&jobid=${long}`, 'jobid'],
    ['addversion.json', `project=shop&version=${long}&egg=PK`, 'version'],
    ['cancel.json', `project=shop&job=${long}`, 'job'],
    ['delversion.json', `project=${long}&version=1`, 'project'],
    ['delproject.json', `project=${long}`, 'project']
  ])('%s refuses a long name without repeating it', async (name, payload, parameter) => {
    const { post, engine } = openShop()
    const response = await post(name, payload)
    expect(response.json()).toMatchObject({ message: `${parameter} is invalid: it is longer than 200 bytes` })
    expect(engine.scheduled).toEqual([])
  })

  it('a form has at most 10,000 fields and 4 MB, but a percent-encoded egg is a file', async () => {
    const { post } = openShop()
    const fields = await post('schedule.json', `project=shop&spider=quotes${'&a='.repeat(10_000)}`)
    expect(fields.json()).toMatchObject({
      status: 'error',
      message: 'The form has more fields than the limit of 10,000. Split it into several requests.'
    })
    const form = await post('schedule.json', `project=shop&spider=quotes&a=${'x'.repeat(5_000_000)}`)
    expect(form.json()).toMatchObject({ status: 'error', message: expect.stringContaining('the limit of 4 MB') })
    const egg = await post('addversion.json', `project=shop&version=1&egg=PK${'x'.repeat(17_000_000)}`)
    expect(egg.json()).toMatchObject({ status: 'ok' })
  })

  it('an argument called __proto__ reaches the engine, which refuses it by name', async () => {
    const { post, engine } = openShop()
    await post('schedule.json', 'project=shop&spider=quotes&__proto__=x&setting=__proto__%3Dy')
    const [{ args, settings }] = engine.scheduled as unknown as [{ args: object; settings: object }]
    expect([Object.keys(args), Object.keys(settings)]).toEqual([['__proto__'], ['__proto__']])
  })
})
