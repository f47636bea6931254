import { describe, expect, it } from 'vitest'
import type { EngineInfo } from '../shared/contract/index.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { pickEngine } from './commands/engines.ts'
import { call, openEngine, startEngine } from './testing/call.ts'

const anEngine = (id: string, name: string, state: EngineInfo['state'] = 'following'): EngineInfo => ({
  id,
  name,
  state,
  address: `http://10.0.0.1:${id}`,
  version: '1.0.0',
  startedAtMs: 0,
  silentMs: 0,
  drained: false,
  hasLocalNode: true
})

describe('engines', () => {
  it('lists them with the leader and since when it leads; the name of the group alone does the same', async () => {
    const { url } = await startEngine()
    const { code, out } = await call(['engines'], { url })
    expect([code, out]).toEqual([0, (await call(['engines', 'list'], { url })).out])
    expect(out).toMatch(
      /^NAME +STATE +DRAINED +LOCAL NODE +VERSION +ADDRESS +STARTED +LAST HEARD +ID\nnorth:6800 +leading +no +yes /
    )
    expect(out).toMatch(/\n\nLEADER +SINCE +WHY\nnorth:6800 +\d{4}-\d\d-\d\d .* +south:6800 is gone\n$/)
    const { out: json } = await call(['engines', '--json'], { url })
    expect(JSON.parse(json)).toMatchObject({ shared: true, engines: [{ id: '6f1d2c', state: 'leading' }] })
  })

  it('hands over to a named engine, drains one and lets it lead again', async () => {
    const { url } = await startEngine()
    const run = async (...words: string[]) => (await call(['engines', ...words], { url })).out
    expect(await run('hand-over')).toBe('The leader hands over.\n')
    expect(await run('hand-over', 'north:6800')).toBe('The leader hands over to north:6800.\n')
    expect(await run('drain', 'north:6800')).toBe('north:6800 is drained: it will not lead.\n')
    expect(await run('undrain', '6f1d2c')).toBe('north:6800 can lead again.\n')
    const unknown = await call(['engines', 'drain', 'east'], { url })
    expect([unknown.code, unknown.error]).toEqual([
      EXIT_CODES.notFound,
      expect.stringContaining('There is no engine east. There are north:6800.')
    ])
  })

  it('says on SQLite that there is one engine, and refuses to hand over with the reason', async () => {
    const { run } = await openEngine()
    expect((await run('engines')).out).toBe('One engine, on SQLite. Several need PostgreSQL: docs/scaling.md.\n')
    const { code, error } = await run('engines', 'hand-over')
    expect([code, error]).toEqual([EXIT_CODES.usage, expect.stringContaining('the only engine on its database')])
  })
})

describe('the name of an engine', () => {
  const [old, young, other] = [anEngine('1', 'north', 'silent'), anEngine('2', 'north'), anEngine('3', 'south')]

  it('means the live process, not the one that it replaced', () => {
    expect(pickEngine({ engines: [old, young, other] }, 'north')).toBe(young)
    expect(pickEngine({ engines: [old, young, other] }, '1')).toBe(old)
    expect(pickEngine({ engines: [old, other] }, 'north')).toBe(old)
  })

  it('is refused if two live engines have it', () => {
    const engines = [young, anEngine('4', 'north', 'leading')]
    expect(() => pickEngine({ engines }, 'north')).toThrow(
      'Several engines are named north. Use the id of one: 2 (http://10.0.0.1:2, following), 4 (http://10.0.0.1:4, leading).'
    )
    expect(pickEngine({ engines }, '4')).toBe(engines[1])
  })
})
