import { expect, test } from 'vitest'
import type { AlertTarget } from '../../../../shared/contract/index.ts'
import { createAddressGuard } from '../addresses.ts'
import { checkTarget } from './check-target.ts'
import { problemOfAddress } from './post-json.ts'

const MAIL: Extract<AlertTarget, { kind: 'email' }> = {
  kind: 'email',
  to: ['team@example.org'],
  from: 'Scrapdeck <deck@example.org>',
  host: 'smtp.example.org',
  port: 587,
  security: 'starttls',
  username: 'deck'
}

function problemOf(target: AlertTarget, hasSecret = true): string | null {
  try {
    checkTarget(target, hasSecret, {
      guard: createAddressGuard(['10.1.0.0/16']),
      commands: [{ name: 'page' }],
      plugins: ['chat']
    })
    return null
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    return `${code}: ${message}`
  }
}

const mail = (over: Partial<typeof MAIL>): AlertTarget => ({ ...MAIL, ...over })

test.each<AlertTarget>([
  mail({}),
  mail({ from: 'deck@example.org', host: '10.1.2.3', username: '', security: 'none' }),
  mail({ to: ['jörg@müller.example', 'a+b.c_d@sub.example.org'], host: 'smtp-relay.internal.' }),
  mail({ host: '2606:4700:4700::1111' }),
  { kind: 'slack' },
  { kind: 'telegram', chatId: '-1001234567890' },
  { kind: 'telegram', chatId: '@alerts_of_us' },
  { kind: 'discord' },
  { kind: 'teams' },
  { kind: 'pagerduty', url: 'https://events.eu.pagerduty.com/v2/enqueue' },
  { kind: 'webhook', url: 'http://10.1.2.3/hook' },
  { kind: 'command', command: 'page' },
  { kind: 'desktop' }
])('%j is accepted', (target) => {
  expect(problemOf(target)).toBeNull()
})

test.each<[AlertTarget, string]>([
  [mail({ to: ['team'] }), 'team is not an e-mail address'],
  [mail({ to: ['a@b.example\r\nBcc: c@d.example'] }), 'is not an e-mail address'],
  [mail({ to: ['a@b.example, c@d.example'] }), 'is not an e-mail address'],
  [mail({ from: 'Scrapdeck' }), 'cannot be the sender'],
  [mail({ from: 'A\r\nBcc: x <deck@example.org>' }), 'cannot be the sender'],
  [mail({ from: 'A\u202e <deck@example.org>' }), 'invisible characters'],
  [mail({ host: 'smtp.example.org:587' }), 'is not a mail server'],
  [mail({ host: 'https://smtp.example.org' }), 'is not a mail server'],
  [mail({ host: 'smtp.example.org/x' }), 'is not a mail server'],
  [mail({ host: '127.0.0.1' }), 'WEBHOOK_URL_FORBIDDEN'],
  [mail({ host: 'localhost' }), 'WEBHOOK_URL_FORBIDDEN'],
  [mail({ host: '169.254.169.254' }), 'WEBHOOK_URL_FORBIDDEN'],
  [mail({ host: '::1' }), 'WEBHOOK_URL_FORBIDDEN'],
  [mail({ security: 'none' }), 'could read the password'],
  [{ kind: 'telegram', chatId: 'our chat' }, 'our chat is not a chat'],
  [{ kind: 'pagerduty', url: 'http://events.pagerduty.com/v2/enqueue' }, 'must start with https'],
  [{ kind: 'pagerduty', url: 'https://192.168.0.1/' }, 'WEBHOOK_URL_FORBIDDEN'],
  [{ kind: 'webhook', url: 'ftp://example.org' }, 'WEBHOOK_URL_FORBIDDEN'],
  [{ kind: 'plugin', plugin: 'other' }, 'no plugin other with the hook alert. There is: chat'],
  [{ kind: 'command', command: 'reboot' }, 'no command reboot in alert_commands. It has: page']
])('%j is refused: %s', (target, words) => {
  expect(problemOf(target)).toContain(words)
})

test.each<[AlertTarget, string]>([
  [mail({}), 'Enter the password of deck'],
  [{ kind: 'slack' }, 'the address of the incoming webhook'],
  [{ kind: 'discord' }, 'the address of the webhook'],
  [{ kind: 'teams' }, 'the address of the workflow'],
  [{ kind: 'telegram', chatId: '1' }, 'the token of the bot'],
  [{ kind: 'pagerduty', url: 'https://events.pagerduty.com/v2/enqueue' }, 'the integration key']
])('%j without a secret is refused: %s', (target, words) => {
  expect(problemOf(target, false)).toMatch(/^BAD_INPUT: Enter /)
  expect(problemOf(target, false)).toContain(words)
})

test('targets without a secret need none, and a command is refused if the configuration has none', () => {
  for (const target of [
    mail({ username: '' }),
    { kind: 'desktop' },
    { kind: 'command', command: 'page' }
  ] as AlertTarget[])
    expect(problemOf(target, false)).toBeNull()
  const none = () =>
    checkTarget({ kind: 'command', command: 'a' }, false, { guard: createAddressGuard([]), commands: [], plugins: [] })
  expect(none).toThrow('add one to alert_commands first')
})

test('a secret is sent without TLS only to this machine and to private networks', () => {
  expect(problemOfAddress('http://93.184.216.34/hook')?.text).toMatch(/https/)
  expect(problemOfAddress('http://[2606:4700::1111]/hook')?.text).toMatch(/https/)
  expect(problemOfAddress('http://chat.example.org/hook')?.text).toMatch(/https/)
  for (const host of ['127.0.0.1', 'localhost', '10.1.2.3', '[::1]'])
    expect(problemOfAddress(`http://${host}/hook`)).toBeNull()
})
