import { expect, it } from 'vitest'
import { EXIT_CODES } from './client/exit-codes.ts'
import { openEngine } from './testing/call.ts'

/**
 * Files for the commands. This test covers the rows of the table in docs/cli.md for errors from an engine.
 * remote-engine.test.ts covers the other rows.
 */
const FILES = {
  crontab: '0 3 * * * curl http://10.9.9.9:6800/schedule.json -d project=shop -d spider=prices\n',
  'fleet.yaml': 'version: 1\nnodes: []\n',
  'broken.yaml': 'version: 2\n'
}

it('each command exits with 5 if something it names does not exist, and says which', async () => {
  const { engine, run } = await openEngine(FILES)
  await engine.prepare('berlin')
  const id = '019b0000000000000000000000000001'
  const named = [
    ['run', 'elsewhere', 'prices'],
    ['run', 'shop', 'prices', '--version', '9'],
    ['run', 'shop', 'prices', '--node', 'paris'],
    ['run', 'shop', 'prices', '--after', id],
    ['jobs', id],
    ['jobs', id.slice(0, 12)],
    ['jobs', '--node', 'paris'],
    ['jobs', '--schedule', 'night'],
    ['cancel', id],
    ['logs', id],
    ['logs', id, '-f'],
    ...['cordon', 'drain', 'activate', 'remove'].map((verb) => ['nodes', verb, 'paris']),
    ...['show', 'pause', 'resume', 'run', 'history', 'remove'].map((verb) => ['schedules', verb, 'night']),
    ['schedules', 'backfill', 'night', '--from', '2026-01-01', '--until', '2026-01-02']
  ]
  for (const words of named) {
    const { code, error } = await run(...words)
    expect({ words, code, error }).toEqual({ words, code: EXIT_CODES.notFound, error: expect.stringMatching(/\S/) })
  }
})

it('a conflict exits with 6, and an invalid request with 2', async () => {
  const { engine, run } = await openEngine(FILES)
  await engine.prepare('berlin')
  await engine.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await engine.until(async () => engine.node.running.length === 1)
  expect((await run('nodes', 'remove', 'berlin')).code).toBe(EXIT_CODES.refused)
  expect((await run('nodes', 'add', 'http://127.0.0.1:9/')).code).toBe(EXIT_CODES.refused)
  const wrong = [
    ['nodes', 'add', 'ftp://x'],
    ['schedules', 'create', 'x', '--project', 'shop', '--spider', 'prices', '--cron', '99 * * * *'],
    ['schedules', 'preview', '--cron', '@daily', '--zone', 'Mars'],
    ['run', 'shop', 'prices', '-a', '_job=x'],
    ['run', 'shop', 'prices', '-a', '__proto__=x'],
    ['run', 'shop', 'prices', '--secret', 'nothing'],
    ['apply', 'broken.yaml'],
    ['apply', 'fleet.yaml', '--prune', '--yes'],
    ['import-schedules', 'crontab', 'crontab', '--yes'],
    ['import-schedules', 'gerapy', 'nowhere']
  ]
  for (const words of wrong) {
    const { code, error } = await run(...words)
    expect({ words, code, error }).toEqual({ words, code: EXIT_CODES.usage, error: expect.stringMatching(/\S/) })
  }
  expect((await run('apply', 'fleet.yaml', '--check')).code).toBe(EXIT_CODES.ok)
})
