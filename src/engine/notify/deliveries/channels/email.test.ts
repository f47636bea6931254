import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { AlertNews, AlertTarget } from '../../../../shared/contract/index.ts'
import { digestOf } from '../../../monitoring/alerts/report/digest.ts'
import { anAlert, deliveryOf, NOW_MS, someEvidence, someNews } from '../../../testing/alert-news.ts'
import { aChannel, openChannels } from '../../../testing/channel-server.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createSeededRandom } from '../../../testing/seeded-random.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { createAddressGuard } from '../addresses.ts'
import { planTry } from '../plan-try.ts'

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
let keys: { key: string; cert: string }

beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(directory.path, name)) as [string, string]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  keys = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
})

afterAll(() => directory[Symbol.asyncDispose]())

interface Mail {
  from: string
  to: string[]
  isEncrypted: boolean
  user: string | undefined
  source: string
}

async function openMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    ...keys,
    authOptional: true,
    onAuth: ({ username, password }, _session, callback) =>
      username === 'deck' && password === 'hunter2'
        ? callback(null, { user: username })
        : callback(new Error('Invalid login')),
    onData(stream, session, callback) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          user: session.user as string | undefined,
          source: Buffer.concat(pieces).toString('utf8')
        })
        callback(null, 'queued as 4711')
      })
    },
    ...options
  })
  server.on('error', () => {
    // Some of these clients disconnect abruptly.
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, mails }
}

const target = (port: number, over: Partial<Extract<AlertTarget, { kind: 'email' }>> = {}): AlertTarget => ({
  kind: 'email',
  to: ['team@example.org', 'boss@example.org'],
  from: 'Scrapdeck <deck@example.org>',
  host: 'localhost',
  port,
  security: 'starttls',
  username: 'deck',
  ...over
})

const trusting = () => openChannels({ seams: { authorities: [keys.cert] } })
const refusal = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode })

test.each(['tls', 'starttls'] as const)(
  'a message arrives over %s, with the password, in both parts',
  async (security) => {
    const { port, mails } = await openMailServer({ secure: security === 'tls' })
    const channel = aChannel(target(port, { security }), 'hunter2')
    expect(await trusting().send(channel, deliveryOf(someNews()))).toMatchObject({
      isGood: true,
      answer: '250 queued as 4711'
    })
    const { source, ...envelope } = mails[0]!
    expect(envelope).toEqual({
      from: 'deck@example.org',
      to: ['team@example.org', 'boss@example.org'],
      isEncrypted: true,
      user: 'deck'
    })
    expect(source).toContain('From: Scrapdeck <deck@example.org>')
    expect(source).toContain('Subject: [Scrapdeck] Critical: north is down: connection refused')
    expect(source).toContain('Date: Sat, 28 Nov 2026 10:49:00 +0000')
    expect(source).toContain('Auto-Submitted: auto-generated')
    expect(source).toMatch(/multipart\/alternative/)
    expect(source.indexOf('text/plain')).toBeLessThan(source.indexOf('text/html'))
  }
)

test('the current evidence is in both parts, and is read for each try', async () => {
  const { port, mails } = await openMailServer()
  const asked: string[] = []
  const readEvidence = async ({ title }: AlertNews) => {
    asked.push(title)
    return someEvidence([`line ${asked.length}`, '  indented'])
  }
  const channels = openChannels({ seams: { authorities: [keys.cert] }, readEvidence })
  const channel = aChannel(target(port), 'hunter2')
  for (const id of ['msg_1_1', 'msg_1_1']) await channels.send(channel, deliveryOf(someNews(), { id }))
  expect(asked).toEqual([someNews().title, someNews().title])
  const { text, html } = await PostalMime.parse(mails[1]!.source)
  for (const part of [text, html]) {
    expect(part).toMatch(new RegExp(`Last log lines of shop/prices[^]+ob ${'d'.repeat(32)}`))
    expect(part).toContain('This run: 3 items. 1 other run: 1,204 items.')
  }
  expect(text).toContain('  line 2\n    indented\n')
  expect(html).toContain('>line 2<br>  indented</div>')
})

test('a report has no evidence', async () => {
  const none = { succeeded: 0, failed: 0, cancelled: 0, lost: 0, unclear: 0 }
  const nothing = {
    fromMs: NOW_MS - 1,
    untilMs: NOW_MS,
    jobs: [],
    errors: [],
    findings: [],
    service: null,
    isComplete: true,
    ended: none,
    endedWithBefore: none
  }
  const { port, mails } = await openMailServer()
  const readEvidence = async () => expect.unreachable('nothing fires in a report')
  const channels = openChannels({ seams: { authorities: [keys.cert] }, readEvidence })
  const body = JSON.stringify({ type: 'digest', timestamp: new Date(NOW_MS).toISOString(), data: digestOf(nothing) })
  expect(await channels.send(aChannel(target(port), 'hunter2'), deliveryOf(someNews(), { body }))).toMatchObject({
    isGood: true
  })
  expect(mails).toHaveLength(1)
})

const headerOf = ({ source }: Mail, name: string) => new RegExp(`^${name}: (.+)$`, 'mi').exec(source)?.[1]?.trim()

test('a repeated delivery has the same id; messages of one group form a thread, and others do not', async () => {
  const { port, mails } = await openMailServer()
  const channel = aChannel(target(port), 'hunter2')
  const channels = trusting()
  const end = someNews({ firing: [], resolved: [anAlert({ resolvedAtMs: NOW_MS })] })
  for (const [news, id] of [
    [someNews(), 'msg_1_1'],
    [someNews(), 'msg_1_1'],
    [end, 'msg_1_2'],
    [someNews({ groupId: 'another' }), 'msg_1_3']
  ] as const)
    await channels.send(channel, deliveryOf(news, { id }))
  const ids = mails.map((mail) => headerOf(mail, 'Message-ID'))
  expect(new Set(ids).size).toBe(3)
  expect(ids[1]).toBe(ids[0])
  expect(ids[0]).toMatch(/^<[0-9a-f]{32}@example\.org>$/)
  const threads = mails.map((mail) => headerOf(mail, 'References'))
  expect(threads[2]).toBe(threads[0])
  expect(threads[3]).not.toBe(threads[0])
  expect(headerOf(mails[2]!, 'In-Reply-To')).toBe(threads[0])
})

test('a wrong password is reported, and tried again when it is corrected; neither it nor its base64 is shown', async () => {
  const { port, mails } = await openMailServer()
  const result = await trusting().test(aChannel(target(port), 'hunter3'))
  expect(result).toMatchObject({ ok: false, answer: expect.stringContaining('refused the login of deck') })
  const shown = JSON.stringify(result)
  expect(shown).not.toContain('hunter3')
  expect(shown).not.toContain(Buffer.from('\0deck\0hunter3').toString('base64'))
  expect(mails).toEqual([])
  const sent = await trusting().send(aChannel(target(port), 'hunter3'), deliveryOf(someNews()))
  expect(sent.isFinal ?? false).toBe(false)
})

test('a test shows what both sides sent', async () => {
  const { port } = await openMailServer()
  const { ok, conversation } = await trusting().test(aChannel(target(port), 'hunter2'))
  expect(ok).toBe(true)
  for (const line of [
    '> STARTTLS',
    '> MAIL FROM:<deck@example.org>',
    '> RCPT TO:<team@example.org>',
    '< 250 queued as 4711'
  ])
    expect(conversation).toContain(line)
  expect(conversation.some((line) => line.startsWith('> AUTH PLAIN'))).toBe(true)
  expect(conversation.join('\n')).not.toContain(Buffer.from('\0deck\0hunter2').toString('base64'))
})

test('without STARTTLS nothing is sent unencrypted, unless the channel allows it', async () => {
  const { port, mails } = await openMailServer({ disabledCommands: ['STARTTLS'] })
  const channels = trusting()
  const refused = await channels.send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))
  expect(refused).toMatchObject({ isGood: false, answer: expect.stringContaining('no encrypted connection') })
  const open = aChannel(target(port, { security: 'none', username: '' }))
  expect(await channels.send(open, deliveryOf(someNews()))).toMatchObject({ isGood: true })
  expect(mails).toMatchObject([{ isEncrypted: false, user: undefined }])
})

test('a channel with a login sends nothing to a server without logins', async () => {
  const { port, mails } = await openMailServer({ disabledCommands: ['AUTH'] })
  expect(await trusting().send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))).toMatchObject({
    isGood: false
  })
  expect(mails).toEqual([])
})

test('an untrusted certificate is refused before the password is sent', async () => {
  const { port } = await openMailServer({ secure: true })
  const { ok, answer, conversation } = await openChannels().test(aChannel(target(port, { security: 'tls' }), 'hunter2'))
  expect(ok).toBe(false)
  expect(answer).toMatch(/certificate/)
  expect(conversation.join()).not.toContain('AUTH')
})

test('a refused recipient is reported, and the others get the message', async () => {
  const { port, mails } = await openMailServer({
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith('boss') ? refusal(550, 'no such user') : null)
  })
  const result = await trusting().send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))
  expect(result).toMatchObject({ isGood: true, answer: '250 queued as 4711; refused: boss@example.org' })
  expect(mails[0]!.to).toEqual(['team@example.org'])
})

test.each([
  [451, 'try again later', 'waiting'],
  [550, 'no such user', 'dead']
])('the response %d to all recipients (%s) leaves the delivery %s', async (code, text, state) => {
  const { port } = await openMailServer({
    onRcptTo: (_address, _session, callback) => callback(refusal(code, text))
  })
  const result = await trusting().send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))
  expect(result).toMatchObject({ isGood: false, answer: expect.stringContaining(text) })
  const planned = planTry({ id: 'a', tries: 0 }, result, { nowMs: 0, random: createSeededRandom(1) })
  expect(planned.state).toBe(state)
  expect(planned.isGone ?? false).toBe(false)
})

test('servers in private networks are not connected to, by address or by name', async () => {
  const { port } = await openMailServer()
  const channels = openChannels({ guard: createAddressGuard([]) })
  for (const host of ['127.0.0.1', 'localhost']) {
    const result = await channels.send(aChannel(target(port, { host }), 'hunter2'), deliveryOf(someNews()))
    expect(result).toMatchObject({ isGood: false, answer: expect.stringContaining('webhook_networks') })
  }
})

test('a missing server and a silent one are reported in time', async () => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const clock = createFakeClock()
  const connected = new Promise((resolve) => silent.once('connection', resolve))
  const result = openChannels({ clock }).send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))
  await connected
  await clock.advanceBy(60_000)
  expect(await result).toMatchObject({ isGood: false, answer: expect.stringContaining('within 60 s') })
  await new Promise((resolve) => silent.close(resolve))
  expect(await openChannels().send(aChannel(target(port), 'hunter2'), deliveryOf(someNews()))).toMatchObject({
    isGood: false,
    answer: `nothing listens on localhost:${port}`
  })
})
