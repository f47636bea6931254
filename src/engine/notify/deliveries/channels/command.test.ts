import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isAlive, readStartTime } from '../../../runtime/process-identity.ts'
import { deliveryOf, someNews } from '../../../testing/alert-news.ts'
import { aChannel, openChannels } from '../../../testing/channel-server.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'

const channel = aChannel({ kind: 'command', command: 'page' })

const withScript = (script: string, over: Parameters<typeof openChannels>[0] = {}) =>
  openChannels({ commands: [{ name: 'page', program: process.execPath, args: ['-e', script, 'first'] }], ...over })

const send = (script: string) => withScript(script).send(channel, deliveryOf(someNews()))

test('the program gets the message as its input, and its configured arguments', async () => {
  await using directory = await makeTemporaryDirectory()
  const file = join(directory.path, 'got.json')
  const script = `let text = ''; process.stdin.on('data', (piece) => text += piece).on('end', () =>
    require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.argv[1], JSON.parse(text)])))`
  expect(await send(script)).toMatchObject({ isGood: true, answer: 'exit code 0' })
  const { readFile } = await import('node:fs/promises')
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(['first', JSON.parse(deliveryOf(someNews()).body)])
})

test('secrets of the service are not in its environment', async () => {
  vi.stubEnv('SCRAPDECK_PASSWORD', 'hunter2')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hunter2')
  const names = await send(
    "console.log(Object.keys(process.env).filter((name) => /SCRAPDECK|AWS/.test(name)).join() || 'none', Boolean(process.env.PATH))"
  )
  expect(names.answer).toBe('exit code 0: none true')
})

test('its exit code and its last line are reported', async () => {
  expect(await send("console.error('no credit'); process.exitCode = 3")).toEqual({
    isGood: false,
    answer: 'exit code 3: no credit'
  })
  expect(await send('process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)')).toMatchObject({
    answer: 'ended by SIGTERM'
  })
})

test('a program that does not read its input is judged by its exit code', async () => {
  const big = deliveryOf(someNews({ ruleName: 'x'.repeat(1_000_000) }))
  expect(await withScript('process.exit(0)').send(channel, big)).toMatchObject({ isGood: true })
})

test('a program is stopped after ten seconds, with all processes that it started', async () => {
  await using directory = await makeTemporaryDirectory()
  const file = join(directory.path, 'pid')
  await writeFile(file, '')
  const clock = createFakeClock()
  const script = `const child = require('node:child_process').spawn('sleep', ['60'])
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(child.pid)); setInterval(() => {}, 1000)`
  const result = withScript(script, { clock }).send(channel, deliveryOf(someNews()))
  const { readFile } = await import('node:fs/promises')
  await expect.poll(() => readFile(file, 'utf8')).not.toBe('')
  const pid = Number(await readFile(file, 'utf8'))
  const startTime = (await readStartTime(pid)) ?? 'gone'
  await clock.advanceBy(10_000)
  expect(await result).toEqual({ isGood: false, answer: 'ended after 10 s' })
  await expect.poll(() => isAlive({ pid, startTime })).toBe(false)
})

test('a program that writes endlessly is stopped', async () => {
  const result = await send(
    "const write = () => { while (process.stdout.write('x'.repeat(9999))); }; process.stdout.on('drain', write); write()"
  )
  expect(result).toMatchObject({ isGood: false, answer: expect.stringContaining('wrote too much') })
})

test('a program that cannot be started, or is no longer in the configuration, is reported', async () => {
  const gone = openChannels({ commands: [{ name: 'page', program: '/no/such/program', args: [] }] })
  expect(await gone.send(channel, deliveryOf(someNews()))).toEqual({
    isGood: false,
    answer: '/no/such/program cannot be started (ENOENT)'
  })
  expect(await openChannels().send(channel, deliveryOf(someNews()))).toMatchObject({
    isGood: false,
    answer: expect.stringContaining('does not name page any more')
  })
})

test('a test shows the program and its output, but not its arguments', async () => {
  const { ok, conversation } = await withScript("console.log('sent')").test(channel)
  expect(ok).toBe(true)
  expect(conversation).toEqual([expect.stringMatching(/^> \/\S+ \(\d+ bytes of input\)$/), '< exit code 0: sent'])
})
