import { describe, expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { type Logger, silentLogger } from '../../runtime/logger.ts'
import { anEggToSend } from '../../testing/egg-to-send.ts'
import { answerJson, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { closers, connect, failureOf, scripted } from './testing/scripted-client.ts'

const SHOP = aProjectName('shop')

describe('an egg', () => {
  const egg = Buffer.from([0x50, 0x4b, 0x05, 0x06, 0x0d, 0x0a, 0x2d, 0x2d, 0xff, 0x00])

  test('is sent byte by byte in a form that Scrapyd reads', async () => {
    const { node, client } = await scripted(answerJson({ project: 'shöp', version: '1.0', spiders: 3, versions: [] }))
    expect(await client.addVersion(aProjectName('shöp'), aVersionName('1.0'), anEggToSend(egg))).toEqual({ spiders: 3 })
    const { headers, body } = node.requests[1] ?? { headers: {}, body: Buffer.of() }
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': headers['content-type'] ?? '' }
    }).formData()
    expect(form.get('project')).toBe('shöp')
    expect(form.get('version')).toBe('1.0')
    expect(Buffer.from(await (form.get('egg') as File).arrayBuffer())).toEqual(egg)
  })

  /** A node that has these versions and refuses eggs after storing them. */
  const refusing = (versions: unknown) =>
    scripted((request, response, socket) => {
      const message = 'RunnerError: Traceback\nscrapyd.exceptions.BadEggError\n'
      const answer = request.path === '/addversion.json' ? { status: 'error', message } : { versions }
      return answerJson(answer)(request, response, socket)
    })
  const pathsOf = (node: { requests: { path: string }[] }) => node.requests.map(({ path }) => path.split('?')[0])

  test('that the node refuses after storing it is deleted before the error is reported', async () => {
    const { node, client } = await refusing(['1_0'])
    const failure = await failureOf(client.addVersion(SHOP, aVersionName('1.1'), anEggToSend(egg)))
    expect(failure).toMatchObject({ kind: 'refused', delivered: 'no' })
    expect(failure?.message).toMatch(/BadEggError\. It was removed from the node\.$/)
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json', '/delversion.json'])
    expect(node.requests[2]?.body.toString()).toBe('project=shop&version=1.1')
  })

  test('whose name the node already had is not deleted, because other jobs run under that name', async () => {
    const { node, client } = await refusing(['1_0'])
    const failure = await failureOf(client.addVersion(SHOP, aVersionName('1.0'), anEggToSend(egg)))
    expect(failure?.message).toContain("It has replaced the node's previous version 1.0: send a corrected one.")
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('is not deleted if it is unknown what the node already had', async () => {
    const { node, client } = await refusing('none of your business')
    const failure = await failureOf(client.addVersion(SHOP, aVersionName('1.0'), anEggToSend(egg)))
    expect(failure?.message).toContain('It is not known whether the node kept it: check for version 1.0 there.')
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('that was never stored is not deleted, because that would delete an older one of that name', async () => {
    const message = 'egg is not a ZIP file (if using curl, use egg=@path not egg=path)'
    const { node, client } = await scripted(answerJson({ status: 'error', message }))
    await failureOf(client.addVersion(SHOP, aVersionName('1'), anEggToSend(egg)))
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('that cannot be deleted is reported by its refusal, and the log says so', async () => {
    const warnings: string[] = []
    const logger: Logger = { ...silentLogger, warn: (_facts, text) => void warnings.push(text) }
    const node = await startScriptedHttpNode((request, response, socket) => {
      if (request.path === '/delversion.json') return void socket.destroy()
      if (request.method === 'GET') return answerJson({ versions: [] })(request, response, socket)
      return answerJson({ status: 'error', message: 'Traceback: broken' })(request, response, socket)
    })
    closers.push(node.close)
    const client = connect({ url: node.url, logger })
    expect(await failureOf(client.addVersion(SHOP, aVersionName('1'), anEggToSend(egg)))).toMatchObject({
      nodeMessage: 'Traceback: broken'
    })
    expect(warnings).toEqual([expect.stringContaining('could not be removed')])
  })
})
