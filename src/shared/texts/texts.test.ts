import { describe, expect, it } from 'vitest'
import type { JobId } from '../contract/ids.ts'
import { en } from './en.ts'
import { limitOf } from './limit-hits.ts'
import {
  decode,
  encode,
  jobsIn,
  mapStrings,
  type Message,
  messageOf,
  plain,
  render,
  say,
  waitFor,
  withoutJobs,
  written
} from './message.ts'
import { nodeErrors } from './en-node-errors.ts'

const OTHER = 'f'.repeat(32) as JobId
const BY_CHAIN = say('timeline.queued_by_chain', { jobId: OTHER, chain: 'next', spider: 'x', outcome: 'failed' })

const WITH_STOP = new Proxy({}, { get: (_all, name) => (name === 'why' ? 'The reason is here.' : 'x') })

describe('a text from outside that ends in a full stop', () => {
  const errors = Object.entries(nodeErrors).filter(([code]) => code !== 'node_error.egg_refused')
  it.each(errors)('does not get a second one in %s', (_code, text) => {
    expect((text as (params: object) => string)(WITH_STOP)).not.toMatch(/here\.\./)
  })
})

describe('a message', () => {
  it('is rendered with its parameters, after the messages among them', () => {
    const what = say('timeline.ended', { outcome: 'failed', reason: 'exit code 1' })
    const next = say('next.retry', { seconds: 30, run: 2, runs: 3 })
    const message = say('timeline.and_next', { what, next })
    expect(render(message)).toBe('Failed: exit code 1; retrying in 30 s (run 2 of 3)')
    expect(written(message)).toMatchObject({ code: 'timeline.and_next', params: { what, next } })
  })

  it.each([
    [0, 'eu-1 cannot import version 3: ImportError: x'],
    [1, 'eu-1 and 1 more cannot import version 3: ImportError: x']
  ])('names the node that refused an egg, and %i others', (others, text) => {
    const refused = say('egg.not_importable', { node: 'eu-1', others, version: '3', error: 'ImportError: x' })
    expect(waitFor('egg_refused', { version: '3', refused })).toMatchObject({ code: 'egg_refused', text })
  })

  it('can be rendered in another language', () => {
    const de = { ...en, 'timeline.sent': ({ node }: { node: string }) => `An ${node} gesendet` }
    expect(render(say('timeline.sent', { node: 'eu-1' }), de)).toBe('An eu-1 gesendet')
  })

  it('of a later version is shown as its code', () => {
    expect(render({ code: 'timeline.danced', params: {} } as unknown as Message)).toBe('timeline.danced')
  })

  it.each([
    ['Sent to eu-1', plain('Sent to eu-1')],
    ['["timeline.sent",{"node":"eu-1"}]', say('timeline.sent', { node: 'eu-1' })],
    ['["timeline.accepted"]', say('timeline.accepted')],
    ['["text",{"text":"[\\"a\\"]"}]', plain('["a"]')]
  ])('is stored as %s', (stored, message) => {
    expect(encode(message)).toBe(stored)
    expect(decode(stored)).toEqual(message)
  })

  it.each([
    '["a",oops',
    '["ok"] (had 3)',
    '["timeout","retry"]',
    '["timeout",30]',
    '["shop.eu", "x"',
    '["text",null]',
    '["text"]',
    '["text",{"text":5}]',
    '["limit_hit.ran",{"limit":{"code":"x"}}]',
    '["limit_hit.ran",{"limit":{"code":"text","params":{"text":5}}}]',
    '["limit_hit.ran",{"limit":{}}]',
    '["a",{},1]'
  ])('is not recognized in foreign text: %s', (words) => {
    expect(decode(words)).toEqual(plain(words))
    expect(decode(encode(plain(words)))).toEqual(plain(words))
  })

  it('whose parameters do not match its text is shown as its code', () => {
    expect(render(decode('["timeline.placed",{}]'))).toBe('timeline.placed')
  })

  it('that is sent with a code of a later version is shown as its text', () => {
    expect(render(messageOf({ text: 'Danced', code: 'timeline.danced', params: { node: 'eu-1' } }))).toBe('Danced')
  })

  it('whose limit is not a message gives a reason that can be stored', () => {
    expect(limitOf(decode('["limit_hit.ran",{"limit":null}]')).code).toBe('limit_hit.ran')
  })

  it('from before there were codes is shown as its text', () => {
    expect(written(decode('Sent to eu-1'))).toEqual({
      text: 'Sent to eu-1',
      code: 'text',
      params: { text: 'Sent to eu-1' }
    })
  })
})

it('the strings of a message are changed in lists and nested messages too', () => {
  const placed = (node: string) => say('timeline.placed', { where: [node], by: null })
  const both = (node: string) => say('timeline.and_next', { what: placed(node), next: node })
  expect(mapStrings(both('eu-1'), (text) => text.toUpperCase())).toEqual(both('EU-1'))
})

describe('for a reader who may not see another job', () => {
  const asSeen = (message: Message) => withoutJobs(message, () => false)

  it('a message does not name it, nor its chain and spider', () => {
    expect(jobsIn(BY_CHAIN)).toEqual([OTHER])
    expect(written(asSeen(BY_CHAIN))).toEqual({
      text: 'Queued by a chain',
      code: 'timeline.queued_by_chain',
      params: { jobId: null, chain: null, spider: null, outcome: null }
    })
  })

  it('a message within another one does not, either', () => {
    const skipped = say('timeline.skipped', { jobId: OTHER, outcome: 'failed' })
    const message = say('timeline.and_next', { what: skipped, next: say('next.queued_and_flagged') })
    expect(jobsIn(message)).toEqual([OTHER])
    expect(render(asSeen(message))).toBe('Skipped: another job ended as failed; queued again and flagged')
  })

  it('a message without names is unchanged', () => {
    const message = say('timeline.sent', { node: 'eu-1' })
    expect(asSeen(message)).toEqual(message)
  })
})

it('every code consists of a group and lower-case words', () => {
  for (const code of Object.keys(en)) expect(code).toMatch(/^(text|[a-z_]+\.[a-z_]+)$/)
})
