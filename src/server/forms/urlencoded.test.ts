import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseUrlEncoded, UrlEncodedParser, type FormValues } from './urlencoded.ts'

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

  it('gives the same result in whatever pieces it arrives', () => {
    const piece = fc.constantFrom('a', 'name', '=', '&', ';', '%', '%4', '%41', '%zz', '+', 'é')
    const cuts = fc.array(fc.nat(60), { maxLength: 8 })
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), cuts, (pieces, places) => {
        const text = Buffer.from(pieces.join(''))
        const parser = new UrlEncodedParser()
        const ends = [...places, text.length].sort((one, other) => one - other)
        const events = ends.flatMap((end, index) => [...parser.push(text.subarray(ends[index - 1] ?? 0, end))])
        const inPieces = [...events, ...parser.end()].reduce<[string, string][]>((found, event) => {
          if ('name' in event) return [...found, [event.name, '']]
          found.at(-1)![1] += event.bytes.toString('latin1')
          return found
        }, [])
        const whole = Object.entries(shown(parseUrlEncoded(text)))
        expect(
          Object.entries(Object.groupBy(inPieces, ([name]) => name)).map(([name, all]) => [
            name,
            all!.map(([, value]) => value)
          ])
        ).toEqual(whole)
      })
    )
  })

  it('arbitrary bytes are parsed without an error', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void parseUrlEncoded(Buffer.from(bytes))))
  })
})
