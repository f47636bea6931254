import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readArguments } from './arguments.ts'
import type { FormValues } from './form-values.ts'
import { MalformedMultipartError, parseMultipart } from './multipart.ts'
import { parseUrlEncoded } from './urlencoded.ts'

const shown = (values: FormValues) =>
  Object.fromEntries([...values].map(([name, list]) => [name, list.map((value) => value.toString('latin1'))]))

describe('urlencoded', () => {
  it.each([
    ['a=1&b=2;c=3', { a: ['1'], b: ['2'], c: ['3'] }],
    ['a=1&a=2', { a: ['1', '2'] }],
    ['a', {}],
    ['a=', { a: [''] }],
    ['=x', { '': ['x'] }],
    ['a=b=c', { a: ['b=c'] }],
    ['a=1+2%2B%20', { a: ['1 2+ '] }],
    ['a=%zz%4', { a: ['%zz%4'] }],
    ['a=%FF%00', { a: ['\xff\0'] }],
    ['%61=%C3%A9', { a: ['\xc3\xa9'] }],
    ['', {}],
    ['&;&', {}]
  ])('%o', (text, expected) => {
    expect(shown(parseUrlEncoded(Buffer.from(text)))).toEqual(expected)
  })

  it('any bytes survive percent-encoding: an egg can be sent this way', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, encodesAll) => {
        let text = 'project=a&egg='
        for (const byte of bytes) {
          const isPlain = !encodesAll && /[A-Za-z0-9]/.test(String.fromCharCode(byte))
          text += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
        }
        const [egg] = parseUrlEncoded(Buffer.from(`${text}&version=1`)).get('egg') ?? []
        expect(egg).toEqual(Buffer.from(bytes))
      })
    )
  })

  it('any bytes at all are parsed without an error', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void parseUrlEncoded(Buffer.from(bytes))))
  })
})

describe('multipart', () => {
  it('parses fields and files alike, by field name only', () => {
    const body = [
      '--XyZ',
      'Content-Disposition: form-data; name="project"',
      '',
      'shop',
      '--XyZ',
      'content-disposition: form-data; filename="a; name=\\"other\\".egg"; name="egg"',
      'Content-Type: application/octet-stream',
      '',
      'PK\r\n--Xy\r\n\xff',
      '--XyZ',
      'Content-Disposition: form-data; name=version',
      '',
      '',
      '--XyZ--',
      'epilogue'
    ].join('\r\n')
    expect(
      shown(parseMultipart(Buffer.from(body, 'latin1'), 'multipart/form-data; charset=x; boundary="XyZ"'))
    ).toEqual({
      project: ['shop'],
      egg: ['PK\r\n--Xy\r\n\xff'],
      version: ['']
    })
  })

  it("what fetch's FormData sends is restored byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), fc.string({ maxLength: 20 }), async (bytes, text) => {
        const form = new FormData()
        form.append('project', text)
        form.append('egg', new Blob([bytes]), 'project.egg')
        const sent = new Response(form)
        const values = parseMultipart(Buffer.from(await sent.arrayBuffer()), sent.headers.get('content-type') as string)
        expect(values.get('egg')).toEqual([Buffer.from(bytes)])
        // FormData itself writes lone line ends as CRLF.
        expect(values.get('project')?.[0]?.toString()).toBe(text.replace(/\r\n|\r|\n/g, '\r\n').toWellFormed())
      })
    )
  })

  it.each([
    ['no boundary', 'multipart/form-data', '--b\r\n\r\nx\r\n--b--'],
    ['another boundary', 'multipart/form-data; boundary=b', '--c\r\n\r\nx\r\n--c--'],
    ['no end', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx'],
    [
      'no end of headers',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="a"\r\n--b--'
    ],
    ['nothing', 'multipart/form-data; boundary=b', ''],
    ['no part', 'multipart/form-data; boundary=b', '--b--'],
    ['endless headers', 'multipart/form-data; boundary=b', `--b\r\nx: ${'y'.repeat(20_000)}\r\n\r\n\r\n--b--`],
    ['too many parts', 'multipart/form-data; boundary=b', `${'--b\r\n\r\n\r\n'.repeat(1002)}--b--`]
  ])('is rejected with %s', (_name, type, body) => {
    expect(() => parseMultipart(Buffer.from(body), type)).toThrow(MalformedMultipartError)
  })

  it('any bytes are either parsed or rejected as malformed', () => {
    const piece = fc.constantFrom('--b', '\r\n', '\r\n\r\n', 'content-disposition: form-data; name="a"', '--', 'x')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        try {
          parseMultipart(Buffer.from(pieces.join('')), 'multipart/form-data; boundary=b')
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMultipartError)
        }
      })
    )
  })
})

describe('a request', () => {
  const post = {
    method: 'POST',
    query: 'project=query&spider=s',
    contentType: 'application/x-www-form-urlencoded; charset=x'
  }

  it('the body replaces the values of the query, name by name', () => {
    const body = Buffer.from('project=b1&project=b2')
    expect(shown(readArguments({ ...post, body }))).toEqual({ project: ['b1', 'b2'], spider: ['s'] })
  })

  it('an empty body counts as none, whatever its type', () => {
    const empty = { ...post, contentType: 'multipart/form-data; boundary=b', body: Buffer.alloc(0) }
    expect(shown(readArguments(empty))).toEqual({ project: ['query'], spider: ['s'] })
  })

  it('a JSON body, and the body of another method, are ignored', () => {
    const body = Buffer.from('project=body')
    expect(shown(readArguments({ ...post, contentType: 'application/json', body }))).toEqual({
      project: ['query'],
      spider: ['s']
    })
    expect(shown(readArguments({ ...post, method: 'PUT', body }))).toEqual({ project: ['query'], spider: ['s'] })
  })
})
