import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprintOf } from './error-fingerprint.ts'
import type { LoggedException, LoggedFrame } from './error-record.ts'
import { isProjectFile, projectPath } from './frame-files.ts'
import { createLogParser } from './log-parser.ts'
import { at, parse, sample } from './testing/parsed-logs.ts'

const exception = (type: string, value: string, frames: LoggedFrame[] = [], depth = 0): LoggedException => ({
  type,
  value,
  frames,
  depth
})
const error = (message: string, exceptions: LoggedException[] = [], logger = 'scrapy.core.scraper') => ({
  logger,
  message,
  exceptions
})
const frame = (file: string, name: string): LoggedFrame => ({ file, name })
const SCRAPY = frame('/srv/python/lib/python3.11/site-packages/scrapy/core/scraper.py', 'call_spider')
const PRICES = frame('/srv/shop/spiders/prices.py', 'parse')

describe('a group', () => {
  it('consists of the exception and the innermost frames of the project', () => {
    const { id, ...rest } = fingerprintOf(
      error('Spider error', [
        exception('ValueError', "bad 'x'", [SCRAPY, PRICES, frame('/usr/lib/python3.11/json/decoder.py', 'decode')])
      ])
    )
    expect(rest).toEqual({
      title: 'ValueError: bad <text>',
      culprit: 'shop/spiders/prices.py in parse',
      exceptionType: 'ValueError',
      because: 'frames'
    })
    expect(id).toMatch(/^[0-9a-f]{16}$/)
  })

  it('is the same on nodes that deploy to other directories, and in eggs', () => {
    const ids = [
      '/home/a/shop/spiders/prices.py',
      '/opt/1.2/shop/spiders/prices.py',
      'C:\\apps\\shop\\spiders\\prices.py',
      '/tmp/shop-17-abc.egg/shop/spiders/prices.py',
      'build/bdist.linux-x86_64/egg/shop/spiders/prices.py'
    ].map((file) => fingerprintOf(error('x', [exception('KeyError', 'x', [SCRAPY, frame(file, 'parse')])])).id)
    expect(new Set(ids).size).toBe(1)
  })

  it('keeps its id, so that groups from before the last change continue', () => {
    const ids = [
      error('Spider error', [exception('ValueError', "bad 'x'", [SCRAPY, PRICES])]),
      error('Spider error', [exception('ValueError', "bad 'x'", [SCRAPY])]),
      error('Login of user 12 failed', [], 'shop')
    ].map((each) => fingerprintOf(each).id)
    expect(ids).toEqual(['3f9aefe78acfba45', 'a3c442bc3bb8b1ca', '4b47781dae4e2e8c'])
  })

  it('does not depend on how deep a recursion was', () => {
    const deep = (depth: number) =>
      fingerprintOf(
        error('x', [
          exception('RecursionError', 'x', [
            PRICES,
            ...Array.from({ length: depth }, () => frame('/srv/shop/tree.py', 'walk'))
          ])
        ])
      )
    expect(deep(2)).toEqual(deep(9))
  })

  it('without frames of the project consists of the exception and its masked text', () => {
    const failed = (host: string) =>
      fingerprintOf(
        error(`Error downloading <GET https://${host}/1>`, [
          exception(
            'twisted.internet.error.DNSLookupError',
            `DNS lookup failed: no results for hostname lookup: ${host}.`,
            [SCRAPY]
          )
        ])
      )
    expect(failed('a.example')).toMatchObject({ because: 'exception', culprit: 'scrapy.core.scraper' })
    expect(failed('a.example').id).toBe(failed('shop.example.org').id)
  })

  it('without an exception consists of the logger and the first line of the message', () => {
    const said = (message: string, logger: string) => fingerprintOf(error(message, [], logger))
    expect(said('Login of user 12 failed\n{"a": 1}', 'shop')).toMatchObject({
      because: 'message',
      title: 'Login of user <id> failed',
      exceptionType: null
    })
    expect(said('Login of user 12 failed\n{"a": 1}', 'shop').id).toBe(
      said('Login of user 7 failed\n{"b": 2}', 'shop').id
    )
    expect(said('Login failed', 'shop').id).not.toBe(said('Login failed', 'other').id)
  })

  it('of a chain uses the exception raised last, and borrows frames of the one before', () => {
    const cause = exception('KeyError', "'a'", [PRICES])
    expect(
      fingerprintOf(error('x', [cause, exception('ValueError', 'y', [frame('/srv/shop/items.py', 'price')])]))
    ).toMatchObject({ exceptionType: 'ValueError', culprit: 'srv/shop/items.py in price' })
    expect(fingerprintOf(error('x', [cause, exception('ValueError', 'y', [SCRAPY])]))).toMatchObject({
      exceptionType: 'ValueError',
      culprit: 'shop/spiders/prices.py in parse'
    })
  })

  it('of an exception group uses its first member', () => {
    const group = exception('ExceptionGroup', 'unhandled errors in a TaskGroup (1 sub-exception)', [PRICES])
    const of = (type: string) => fingerprintOf(error('x', [group, exception(type, 'x', [PRICES], 2)]))
    expect(of('KeyError').exceptionType).toBe('KeyError')
    expect(of('KeyError').id).not.toBe(of('TypeError').id)
  })

  const dns = 'DNS lookup failed: no results for hostname lookup: shop.invalid.'
  const tls = "[<twisted.python.failure.Failure OpenSSL.SSL.Error: [('SSL routines', '', 'wrong version number')]>]"
  const lost =
    '[<twisted.python.failure.Failure twisted.internet.error.ConnectionLost: Connection to the other side was lost in a non-clean fashion: Connection lost.>]'
  it.each([
    [dns, 'DNSLookupError', 'CannotResolveHostError'],
    [
      "DNS lookup failed: address 'shop.invalid' not found: [Errno -2] Name or service not known.",
      'DNSLookupError',
      'CannotResolveHostError'
    ],
    [
      'Connection was refused by other side: 111: Connection refused.',
      'ConnectionRefusedError',
      'DownloadConnectionRefusedError'
    ],
    ['Getting http://a.example/ took longer than 2.0 seconds.', 'TimeoutError', 'DownloadTimeoutError'],
    [tls, '_newclient.ResponseNeverReceived', 'DownloadFailedError'],
    [lost, '_newclient.ResponseNeverReceived', 'DownloadFailedError'],
    ['An error occurred while connecting: 113: No route to host.', 'ConnectError', 'DownloadFailedError']
  ])('of one failed download is the same, whatever logs it and under whatever name: %s', (text, older, newer) => {
    const twisted = exception(`twisted.internet.error.${older}`.replace('internet.error._', 'web._'), text, [SCRAPY])
    const records: [string, string, LoggedException[]][] = [
      ['retry', `Gave up retrying <GET http://shop.invalid/robots.txt> (failed 2 times): ${text}`, []],
      ['robotstxt', `Error downloading <GET http://shop.invalid/1>: ${text}`, [twisted]],
      ['retry', `Gave up retrying <POST http://other.invalid/7> (failed 3 times): ${text}`, []],
      ['scraper', 'Error downloading <GET http://shop.invalid/1>', [twisted]],
      [
        'scraper',
        'Error downloading <GET http://shop.invalid/1>',
        [twisted, exception(`scrapy.exceptions.${newer}`, text, [SCRAPY])]
      ]
    ]
    const groups = records.map(([logger, message, exceptions]) => fingerprintOf(error(message, exceptions, logger)))
    const said = at('10:00:00', 'ERROR', `<twisted.python.failure.Failure twisted.internet.error.${older}: ${text}>`)
    groups.push(fingerprintOf(parse(said.replace('internet.error._', 'web._')).errors[0]!))
    expect(new Set(groups.map(({ id }) => id)).size).toBe(1)
  })

  it('of another cause is another group', () => {
    const causes = [
      dns,
      tls,
      lost,
      tls.replace('wrong version number', 'certificate verify failed'),
      '503 Service Unavailable',
      '429 Too Many Requests'
    ]
    const groups = causes.map((text) =>
      fingerprintOf(error(`Gave up retrying <GET http://a.example/> (failed 3 times): ${text}`))
    )
    expect(new Set(groups.map(({ id }) => id)).size).toBe(causes.length)
    expect(groups.map(({ title }) => title)).toEqual([
      `twisted.internet.error.DNSLookupError: ${dns}`,
      'OpenSSL.SSL.Error: wrong version number',
      'twisted.internet.error.ConnectionLost: Connection to the other side was lost in a non-clean fashion: Connection lost.',
      'OpenSSL.SSL.Error: certificate verify failed',
      'Download failed: 503 Service Unavailable',
      'Download failed: 429 Too Many Requests'
    ])
  })

  it('of an exception that Scrapy has renamed stays the same', () => {
    const of = (type: string) => fingerprintOf(error('Spider error', [exception(type, 'x', [PRICES])]))
    expect(of('scrapy.exceptions.CannotResolveHostError')).toEqual(of('twisted.internet.error.DNSLookupError'))
    expect(of('scrapy.exceptions.DownloadTimeoutError').id).not.toBe(of('TimeoutError').id)
  })

  it('of a real run with four failing sites, each logged four times, are four', () => {
    const { errors } = parse(sample('failures/failed-downloads-2.19'))
    const titles = errors.map((each) => fingerprintOf(each).title)
    expect(titles).toHaveLength(16)
    expect(new Set(errors.map((each) => fingerprintOf(each).id)).size).toBe(4)
    expect(new Set(titles)).toEqual(
      new Set([
        `twisted.internet.error.DNSLookupError: ${dns}`,
        'OpenSSL.SSL.Error: wrong version number',
        'twisted.internet.error.ConnectionRefusedError: Connection was refused by other side: <id> Connection refused.',
        'twisted.internet.error.TimeoutError: Getting <url> took longer than <id> seconds.'
      ])
    )
  })

  it.each([
    ['ModuleNotFoundError', "No module named 'lxml2.etree'"],
    ['ImportError', "cannot import name 'Shop' from 'shop.items'"],
    ['NameError', "name 'prices' is not defined"],
    ['AttributeError', "'NoneType' object has no attribute 'get'"],
    ['TypeError', "parse() missing <id> required positional argument: 'response'"]
  ])('of a %s has the missing name in its title, and another name is another group', (type, text) => {
    const of = (value: string) => fingerprintOf(error('x', [exception(type, value.replace('<id>', '1'), [SCRAPY])]))
    expect(of(text).title).toBe(`${type}: ${text}`)
    expect(of(text).id).not.toBe(of(text.replace(/'[^']*'/, "'other'")).id)
  })

  it('of a missing key names the key where it is used, and also a missing spider', () => {
    expect(fingerprintOf(error('x', [exception('KeyError', "'price'", [PRICES])])).title).toBe("KeyError: 'price'")
    expect(fingerprintOf(error('', [exception('KeyError', "'Spider not found: prices'", [SCRAPY])])).title).toBe(
      'KeyError: Spider not found: prices'
    )
  })

  it('of errors of the project is the same in the logs of every version of Scrapy', () => {
    const directory = join(import.meta.dirname, 'samples')
    // Excludes the log of Scrapy 1.0, because Python 2 words errors differently and this Scrapy fails to log one of
    // them.
    const names = readdirSync(directory).filter((name) => /^everything-(?!1\.0).*log$/.test(name))
    const groups = names.map((name) => {
      const parser = createLogParser()
      parser.push(readFileSync(join(directory, name)))
      parser.end()
      const fingerprints = parser
        .takeErrors()
        .map(fingerprintOf)
        .filter(({ because }) => because === 'frames')
      return fingerprints.map(({ culprit, exceptionType, id }) => `${exceptionType} ${culprit} ${id}`).toSorted()
    })
    expect(groups[0]).toHaveLength(3)
    for (const group of groups) expect(group).toEqual(groups[0])
  })
})

describe('whatever the log contains', () => {
  const name = fc.stringMatching(/^[a-z_]{1,10}$/)
  const file = fc.tuple(name, name, name).map((parts) => `/srv/x/${parts.join('/')}.py`)
  const type = fc.stringMatching(/^[A-Z][a-z]{1,12}Error$/)
  const id = fc.oneof(
    fc.nat().map(String),
    fc.uuid(),
    fc.nat().map((each) => `0x${each.toString(16)}`),
    fc.stringMatching(/^[a-f0-9]{4,20}\d$/),
    // Characters that can end a sentence do not belong to the URL.
    fc.webUrl().map((url) => `${url.replaceAll("'", '')}/a`),
    fc.stringMatching(/^[^'\\\n]{0,20}$/).map((text) => `'${text}'`),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)
  )
  const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 5 })

  it('ids in a message never split a group', () => {
    fc.assert(
      fc.property(words, words, id, id, type, (before, after, one, other, kind) => {
        // Both must be of the same kind: `user 7` and `user 'x'` differ, because one is a number and the other is
        // quoted.
        fc.pre(/^'/.test(one) === /^'/.test(other) && one.includes('://') === other.includes('://'))
        const text = (value: string) => `${before.join(' ')} ${value} ${after.join(' ')}`
        expect(fingerprintOf(error(text(one))).id).toBe(fingerprintOf(error(text(other))).id)
        const failed = (value: string) => fingerprintOf(error('x', [exception(kind, text(value), [SCRAPY])])).id
        expect(failed(one)).toBe(failed(other))
      })
    )
  })

  it('different exceptions are never merged', () => {
    fc.assert(
      fc.property(type, type, fc.string(), fc.option(file), (one, other, value, where) => {
        fc.pre(one !== other)
        const frames = where === null ? [SCRAPY] : [SCRAPY, frame(where, 'parse')]
        const of = (kind: string) => fingerprintOf(error('x', [exception(kind, value, frames)])).id
        expect(of(one)).not.toBe(of(other))
      })
    )
  })

  it('different innermost frames of the project are never merged', () => {
    fc.assert(
      fc.property(fc.tuple(file, name), fc.tuple(file, name), type, ([file1, name1], [file2, name2], kind) => {
        fc.pre(file1 !== file2 || name1 !== name2)
        const of = (each: LoggedFrame) => fingerprintOf(error('x', [exception(kind, 'x', [PRICES, each, SCRAPY])])).id
        expect(of(frame(file1, name1))).not.toBe(of(frame(file2, name2)))
      })
    )
  })

  it('a fingerprint has a limited length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.string({ maxLength: 500 }), (text, path) => {
        for (const each of [
          error(text, [], path),
          error('', [exception(text.slice(0, 120), text, [frame(path, text)])])
        ]) {
          const { title, culprit } = fingerprintOf(each)
          expect(title.length).toBeGreaterThan(0)
          expect(Math.max(title.length, culprit.length)).toBeLessThanOrEqual(200)
        }
      })
    )
  })
})

describe('a file', () => {
  it.each([
    ['/srv/shop/spiders/a.py', true],
    ['shop/spiders/a.py', true],
    ['/tmp/shop-1.egg/shop/pipelines.py', true],
    ['/home/me/scrapy-project/scrapy_shop/items.py', true],
    ['/srv/venv/lib/python3.11/site-packages/shop_tools/a.py', false],
    ['/usr/lib/python3/dist-packages/twisted/internet/defer.py', false],
    ['/usr/lib/python3.13t/asyncio/base_events.py', false],
    ['C:\\Python311\\Lib\\asyncio\\events.py', false],
    ['C:\\Users\\me\\shop\\spiders\\a.py', true],
    ['/src/scrapy/scrapy/core/engine.py', false],
    ['<frozen importlib._bootstrap>', false],
    ['<string>', false]
  ])('%s belongs to the project: %s', (path, expected) => expect(isProjectFile(path)).toBe(expected))

  it('of ours, which starts spiders, does not belong to the project', () => {
    const ours = readdirSync('resources/python').filter((name) => name.endsWith('.py'))
    expect(ours.length).toBeGreaterThan(5)
    for (const name of ours)
      for (const folder of [
        '/opt/scrapdeck/resources',
        'C:\\Scrapdeck\\resources',
        '/Applications/S.app/Contents/Resources'
      ])
        expect(isProjectFile(`${folder}/python/${name}`), name).toBe(false)
    expect(isProjectFile('/srv/shop/resources/python/prices.py')).toBe(true)
  })

  it('has the same path everywhere', () => {
    expect(projectPath('/a/b/c/shop/spiders/x.py')).toBe('shop/spiders/x.py')
    expect(projectPath('/tmp/shop.egg/x.py')).toBe('x.py')
  })
})
