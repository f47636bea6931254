import { describe, expect, test } from 'vitest'
import type { Script } from '../../testing/scripted-http-node.ts'
import { failureOf, RUN, scripted } from './testing/scripted-client.ts'

describe('a log', () => {
  const log = Buffer.from('0123456789')
  const wholeFile: Script = (_request, response) => void response.end(log)
  const chunkedFile: Script = (_request, response) => {
    for (const byte of log) response.write(Buffer.of(byte))
    response.end()
  }
  const withRanges: Script = (request, response) => {
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(String(request.headers.range)) ?? []
    const first = Number(from)
    if (first >= log.length) return void response.writeHead(416, { 'content-range': `bytes */${log.length}` }).end()
    const piece = log.subarray(first, Number(to) + 1)
    const range = `bytes ${first}-${first + piece.length - 1}/${log.length}`
    response.writeHead(206, { 'content-range': range }).end(piece)
  }
  const servers = { 'with ranges': withRanges, 'without ranges': wholeFile, 'without ranges or length': chunkedFile }

  describe.each(Object.entries(servers))('from a server %s', (_name, script) => {
    test.each([
      [
        { offset: 0, limitBytes: 100 },
        { offset: 0, text: '0123456789' }
      ],
      [
        { offset: 3, limitBytes: 4 },
        { offset: 3, text: '3456' }
      ],
      [
        { offset: 10, limitBytes: 4 },
        { offset: 10, text: '' }
      ],
      [
        { offset: 99, limitBytes: 4 },
        { offset: 10, text: '' }
      ],
      [
        { offset: -3, limitBytes: 100 },
        { offset: 7, text: '789' }
      ],
      [
        { offset: -3, limitBytes: 2 },
        { offset: 7, text: '78' }
      ],
      [
        { offset: -99, limitBytes: 4 },
        { offset: 0, text: '0123' }
      ]
    ])('%o is read', async (wanted, { offset, text }) => {
      const { client } = await scripted(script)
      const range = await client.readLog(RUN, wanted)
      expect({ ...range, bytes: Buffer.from(range?.bytes ?? []).toString() }).toEqual({
        offset,
        sizeBytes: 10,
        bytes: text
      })
    })
  })

  test('that is empty has size 0', async () => {
    const { client } = await scripted((_request, response) => void response.writeHead(416).end())
    const empty = { offset: 0, sizeBytes: 0, bytes: new Uint8Array(0) }
    expect(await client.readLog(RUN, { offset: -10, limitBytes: 10 })).toEqual(empty)
  })

  test('is cut at the limit if the server sends more than was requested', async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 0-9/10' }).end(log)
    })
    expect((await client.readLog(RUN, { offset: 0, limitBytes: 3 }))?.bytes).toEqual(new Uint8Array(log.subarray(0, 3)))
  })

  test('is never the page that a proxy sends instead', async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<title>Log in</title>')
    })
    expect((await failureOf(client.readLog(RUN, { offset: 0, limitBytes: 3 }))).kind).toBe('not_scrapyd')
    expect((await failureOf(client.readLog(RUN, { offset: -3, limitBytes: 3 }))).kind).toBe('not_scrapyd')
  })

  test.each([401, 500, 206])('with status %i and no range is an error', async (status) => {
    const { client } = await scripted((_request, response) => void response.writeHead(status).end('x'))
    expect(['http', 'unauthorized']).toContain(
      (await failureOf(client.readLog(RUN, { offset: 0, limitBytes: 3 }))).kind
    )
    expect(['http', 'unauthorized']).toContain(
      (await failureOf(client.readLog(RUN, { offset: -3, limitBytes: 3 }))).kind
    )
  })
})
