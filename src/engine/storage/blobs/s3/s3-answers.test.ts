import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseS3Address } from '../../../runtime/s3-address.ts'
import { retryDelayMs } from './s3-client.ts'
import { explainFailure, isPassing, type S3Failure } from './s3-failure.ts'
import { elementsOf, encode, textOf } from './s3-xml.ts'
import { PART_BYTES, partBytesOf } from './upload.ts'

const failure = (more: Partial<S3Failure>): S3Failure => ({
  operation: 'put',
  status: 403,
  code: '',
  message: '',
  region: null,
  clockOffsetMs: null,
  ...more
})
const address = parseS3Address('s3://crawls/a?endpoint=https://s3.example')
const told = (more: Partial<S3Failure>) => explainFailure(failure(more), address, 'profile x').message

describe('requests to S3', () => {
  test('write and read back any content of an element', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const xml = `<?xml version="1.0"?><A xmlns="x"><B>no</B><Key>${encode(text)}</Key></A>`
        expect(textOf(xml, 'Key')).toBe(text)
      })
    )
    expect(elementsOf('<L><C><K>1</K></C><C><K>2</K></C><C>', 'C')).toEqual(['<K>1</K>', '<K>2</K>'])
    expect([textOf('<Key>', 'Key'), textOf('', 'Key'), textOf('<Key>&#x41;&#66;&lt;&nbsp;</Key>', 'Key')]).toEqual([
      null,
      null,
      'AB<&nbsp;'
    ])
  })

  test('survive hostile XML', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('<Key>', '</Key>', '&', '#', '&#x110000;', '&#9999999;', ';', 'x')),
        (parts) => {
          const xml = parts.join('')
          expect([typeof textOf(xml, 'Key'), elementsOf(xml, 'Key').length <= parts.length]).toEqual([
            expect.stringMatching(/string|object/),
            true
          ])
        }
      )
    )
  })

  test('are repeated only after temporary errors', () => {
    const passing = [{ status: 503 }, { status: 500 }, { status: 429 }, { status: null, code: 'ECONNRESET' }]
    const final = [{ status: 403 }, { status: 404 }, { status: 412 }, { status: null, code: 'CERT_HAS_EXPIRED' }]
    expect(passing.map((one) => isPassing(failure(one)))).toEqual([true, true, true, true])
    expect(final.map((one) => isPassing(failure(one)))).toEqual([false, false, false, false])
    expect(isPassing(failure({ status: 409, code: 'ConditionalRequestConflict' }))).toBe(true)
  })

  test('wait longer each time, with jitter and a limit', () => {
    const waits = Array.from({ length: 10 }, (_, count) => retryDelayMs(count, { next: () => 0.999 }))
    expect(waits.map(Math.ceil)).toEqual([200, 400, 800, 1599, 3197, 4995, 4995, 4995, 4995, 4995])
    expect(retryDelayMs(9, { next: () => 0 })).toBe(0)
  })

  test('explain each failure with what to do', () => {
    expect(told({ code: 'AccessDenied', operation: 'put' })).toMatch(/no right to this: put\. It needs .*\(profile x\)/)
    expect(told({ code: 'PermanentRedirect', region: 'eu-west-1' })).toContain('Add region=eu-west-1')
    expect(told({ code: 'ExpiredToken' })).toContain('Renew the credentials')
    expect(told({ code: 'RequestTimeTooSkewed', clockOffsetMs: 7_200_000 })).toContain(
      'by 120 min: this machine is behind'
    )
    expect(told({ status: null, code: 'CERT_HAS_EXPIRED' })).toContain('NODE_EXTRA_CA_CERTS')
    expect(told({ status: null, code: 'UND_ERR_CONNECT_TIMEOUT' })).toContain('does not respond')
    expect(told({ status: 507, code: 'InsufficientStorage' })).toContain('no room left')
    expect(told({ status: 503, code: 'SlowDown' })).toContain('overloaded')
  })

  test('split an upload into no more parts than S3 accepts, and none too small', () => {
    fc.assert(
      fc.property(fc.integer({ min: PART_BYTES + 1, max: 5 * 1024 ** 4 }), (sizeBytes) => {
        const partBytes = partBytesOf(sizeBytes)
        expect(partBytes).toBeGreaterThanOrEqual(5 * 1024 * 1024)
        expect(Math.ceil(sizeBytes / partBytes)).toBeLessThanOrEqual(10_000)
      })
    )
  })
})
