import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FormCollector } from './form-collector.ts'
import { addValue, type FormValues } from './urlencoded.ts'
import { MalformedMultipartError, readMultipart } from './multipart.ts'

const shown = (values: FormValues) =>
  Object.fromEntries([...values].map(([name, list]) => [name, list.map((value) => value.toString('latin1'))]))

async function parse(body: Buffer, contentType: string, pieceBytes = 65_536): Promise<FormValues> {
  const collector = new FormCollector({ begin: () => Promise.reject(new Error('no files here')) }, () => false)
  async function* pieces() {
    for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes)
  }
  await readMultipart(pieces(), contentType, collector)
  const values: FormValues = new Map()
  for (const { name, value } of await collector.end()) addValue(values, name, value as Buffer)
  return values
}

describe('multipart', () => {
  it('parses fields and files alike, by field name only', async () => {
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
    const type = 'multipart/form-data; charset=x; boundary="XyZ"'
    for (const pieceBytes of [1, 7, 1000]) {
      expect(shown(await parse(Buffer.from(body, 'latin1'), type, pieceBytes))).toEqual({
        project: ['shop'],
        egg: ['PK\r\n--Xy\r\n\xff'],
        version: ['']
      })
    }
  })

  it('a file that arrives in one large piece with the end of the form is read', async () => {
    const form = new FormData()
    form.append('egg', new Blob([Buffer.alloc(300_000, 'x')]), 'project.egg')
    const sent = new Response(form)
    const body = Buffer.from(await sent.arrayBuffer())
    const values = await parse(body, sent.headers.get('content-type')!, body.length)
    expect(values.get('egg')?.[0]?.length).toBe(300_000)
  }, 5_000)

  it("the output of fetch's FormData is restored byte for byte", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 2000 }),
        fc.string({ maxLength: 20 }),
        fc.integer({ min: 1, max: 3000 }),
        async (bytes, text, pieceBytes) => {
          const form = new FormData()
          form.append('project', text)
          form.append('egg', new Blob([bytes]), 'project.egg')
          const sent = new Response(form)
          const bytesSent = Buffer.from(await sent.arrayBuffer())
          const values = await parse(bytesSent, sent.headers.get('content-type') as string, pieceBytes)
          expect(values.get('egg')).toEqual([Buffer.from(bytes)])
          // FormData itself writes lone line ends as CRLF.
          expect(values.get('project')?.[0]?.toString()).toBe(text.replace(/\r\n|\r|\n/g, '\r\n').toWellFormed())
        }
      )
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
  ])('is rejected with %s', async (_name, type, body) => {
    await expect(parse(Buffer.from(body), type)).rejects.toBeInstanceOf(MalformedMultipartError)
  })

  it('arbitrary bytes are either parsed or rejected as malformed', async () => {
    const piece = fc.constantFrom('--b', '\r\n', '\r\n\r\n', 'content-disposition: form-data; name="a"', '--', 'x')
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 30 }),
        fc.integer({ min: 1, max: 100 }),
        async (pieces, pieceBytes) => {
          try {
            await parse(Buffer.from(pieces.join('')), 'multipart/form-data; boundary=b', pieceBytes)
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedMultipartError)
          }
        }
      )
    )
  })
})
