import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { IncomingFiles } from '../../engine/storage/blobs/incoming-files.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { MAX_TEXT_BYTES, MAX_UPLOAD_BYTES } from '../limits.ts'
import { makeTestDirectory } from '../../engine/testing/test-directory.ts'
import { addForms, receiveForm, parseContractForms } from './receive-form.ts'

/** Opens a server on a real socket. It responds with the form's parts in memory and on disk. */
async function open() {
  const directory = makeTestDirectory()
  const incoming = IncomingFiles.open(directory)
  const app: FastifyInstance = Fastify()
  addForms(app)
  app.removeAllContentTypeParsers()
  const isFile = ({ name }: { name: string }) => name === 'egg'
  app.addContentTypeParser('*', (request: FastifyRequest, body: Readable) =>
    receiveForm(request, body, { incoming, isWanted: true, isFile, limitBytes: MAX_UPLOAD_BYTES })
  )
  app.setErrorHandler((error, _request, reply) =>
    reply.code(400).send(isScrapdeckError(error) ? error.code : String(error))
  )
  app.post('/', async ({ form }) => ({
    form:
      form &&
      (await Promise.all(
        form.map(async ({ name, value }) =>
          Buffer.isBuffer(value) ? [name, value.toString()] : [name, 'on disk', (await readFile(value.path)).length]
        )
      ))
  }))
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const ask = async (init: RequestInit) => {
    const response = await fetch(address, { method: 'POST', ...init })
    const text = await response.text()
    return text.startsWith('{') ? (JSON.parse(text) as { form: unknown }).form : text
  }
  return { ask, address, files: () => readdirSync(directory) }
}

it('files of a form are on disk while its request is served, and gone afterwards', async () => {
  const { ask, files } = await open()
  const form = new FormData()
  form.append('project', 'shop')
  form.append('egg', new Blob([Buffer.alloc(3_000_000)]), 'shop.egg')
  expect(await ask({ body: form })).toEqual([
    ['project', 'shop'],
    ['egg', 'on disk', 3_000_000]
  ])
  await expect.poll(files).toEqual([])
})

it('a percent-encoded egg goes to disk too', async () => {
  const { ask, files } = await open()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = `project=shop&egg=${'%50'.repeat(200_000)}`
  expect(await ask({ body, headers })).toEqual([
    ['project', 'shop'],
    ['egg', 'on disk', 200_000]
  ])
  await expect.poll(files).toEqual([])
})

it('an upload that its client aborts leaves nothing', async () => {
  const { address, files } = await open()
  const { port } = new URL(address)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  const head =
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 900000\r\n\r\n'
  socket.write(`${head}--b\r\nContent-Disposition: form-data; name="egg"\r\n\r\n${'x'.repeat(100_000)}`)
  await expect.poll(files).toHaveLength(1)
  socket.destroy()
  await expect.poll(files).toEqual([])
})

it('files of a form that cannot be passed on are gone, too', async () => {
  const directory = makeTestDirectory()
  const incoming = IncomingFiles.open(directory)
  const app = Fastify()
  parseContractForms(app, {
    begin: () => incoming.begin(),
    toFile: () => Promise.reject(new Error('no descriptor is left'))
  })
  app.post('/', () => 'served')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const body = new FormData()
  body.append('egg', new Blob(['PK']), 'shop.egg')
  expect((await fetch(address, { method: 'POST', body })).status).toBe(500)
  expect(readdirSync(directory)).toEqual([])
})

it('fields that are not files stay within the limit of a JSON request, even countless small ones', async () => {
  const { ask, files } = await open()
  const form = new FormData()
  form.append('egg', new Blob(['PK']), 'shop.egg')
  form.append('project', 'x'.repeat(MAX_TEXT_BYTES))
  expect(await ask({ body: form })).toBe('REQUEST_TOO_LARGE')
  expect(files()).toEqual([])
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  expect(await ask({ body: 'a=&'.repeat(10_001), headers })).toBe('REQUEST_TOO_LARGE')
  expect(await ask({ body: 'a'.repeat(100_000), headers })).toBe('REQUEST_TOO_LARGE')
})

it('bodies of other types are dropped; an empty body is not a form', async () => {
  const { ask } = await open()
  expect(await ask({ body: '{}', headers: { 'content-type': 'application/json' } })).toEqual([])
  expect(await ask({ body: '', headers: { 'content-type': 'multipart/form-data; boundary=b' } })).toBeNull()
})
