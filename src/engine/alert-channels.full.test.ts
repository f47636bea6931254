import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { expect, test } from 'vitest'
import { OWNER } from './access/principal.ts'
import { createEngine } from './index.ts'
import { makeTemporaryDirectory } from './testing/temporary-directory.ts'

const SECRET = 'https://hooks.slack.example/services/T0/B0/hunter2'

async function openEngine() {
  const directory = await makeTemporaryDirectory()
  const posted: { url: string; body: string }[] = []
  const engine = await createEngine({
    dataDirectory: join(directory.path, 'data'),
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
    scrapdeckVersion: 'test',
    alertCommands: [{ name: 'page', program: process.execPath, args: ['-e', "console.log('paged')"] }],
    publicUrl: 'https://deck.example.org',
    seams: {
      localNode: null,
      post: async (request) => {
        posted.push(request)
        return { kind: 'status', status: 200, retryAfterSeconds: null, text: 'ok' }
      }
    }
  })
  return {
    client: createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } }),
    posted,
    [Symbol.asyncDispose]: async () => {
      await engine.stop()
      await directory[Symbol.asyncDispose]()
    }
  }
}

test('a channel is checked when it is created, can be tested at once, and never shows its secret', async () => {
  await using engine = await openEngine()
  const { alertChannels } = engine.client
  const settings = { name: 'On call', target: { kind: 'slack' as const } }
  await expect(alertChannels.create(settings)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  const made = await alertChannels.create({ ...settings, secret: SECRET })
  expect(made.channel).toMatchObject({ hasSecret: true, problem: null })
  const tried = await alertChannels.test({ id: made.channel.id })
  expect(tried).toMatchObject({ ok: true, answer: '200' })
  expect(engine.posted).toMatchObject([
    { url: SECRET, body: expect.stringContaining('https://deck.example.org/#/alerts') }
  ])
  expect(JSON.stringify([made, tried, await alertChannels.list({})])).not.toContain('hunter2')
})

test('a channel keeps its kind, so the password of a mail server never signs requests to a webhook', async () => {
  await using engine = await openEngine()
  const { alertChannels } = engine.client
  const mail = { to: ['team@example.org'], from: 'deck@example.org', host: 'mail.example.org', username: 'deck' }
  const { channel } = await alertChannels.create({
    name: 'Mail',
    target: { kind: 'email', ...mail },
    secret: 'hunter2'
  })
  const target = { kind: 'webhook' as const, url: 'https://evil.example/hook' }
  await expect(alertChannels.update({ id: channel.id, name: 'Mail', target })).rejects.toMatchObject({
    code: 'BAD_INPUT'
  })
  expect((await alertChannels.list({})).channels).toMatchObject([{ target: { kind: 'email' }, hasSecret: true }])
})

test('a command must be one that the configuration names', async () => {
  await using engine = await openEngine()
  const { alertChannels } = engine.client
  const create = (command: string) => alertChannels.create({ name: 'Page', target: { kind: 'command', command } })
  await expect(create('reboot')).rejects.toMatchObject({ code: 'BAD_INPUT' })
  const { channel } = await create('page')
  expect(await alertChannels.test({ id: channel.id })).toMatchObject({ ok: true, answer: 'exit code 0: paged' })
})
