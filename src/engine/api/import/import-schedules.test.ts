import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { occurrencesOf } from '../../../shared/calendar/index.ts'
import { ScheduleTiming } from '../../../shared/contract/index.ts'
import { readFleetFile } from '../fleet-file/yaml.ts'
import {
  makeApschedulerDatabase,
  makeGerapyDatabase,
  makeScrapydWebDatabase
} from '../../storage/testing/timer-databases.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { importSchedules, type ImportSchedulesOptions } from './import-schedules.ts'
import { readCronTrigger } from './schedules/apscheduler.ts'

let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
})
afterEach(() => directory.remove())

const at = (name: string) => join(directory.path, name)

function imported(options: Omit<ImportSchedulesOptions, 'zone' | 'path'> & { path?: string }) {
  const found = importSchedules({ zone: 'Europe/Berlin', path: directory.path, ...options })
  return {
    ...found,
    schedules: readFleetFile(found.yaml).schedules ?? [],
    notes: found.imported.map(({ notes }) => notes)
  }
}

describe('triggers of APScheduler', () => {
  test('fire at the times at which APScheduler 3.11 fires them', () => {
    const recorded = readFileSync(join(import.meta.dirname, 'schedules/testing/apscheduler-3.11.jsonl'), 'utf8')
    for (const line of recorded.trim().split('\n')) {
      const { given, times } = JSON.parse(line) as { given: object; times: number[] }
      const rules = readCronTrigger(given).expressions.map((expression) => ({ kind: 'cron', expression }))
      const timing = ScheduleTiming.parse({ zone: 'Asia/Shanghai', rules })
      const ours = occurrencesOf(timing, { afterMs: Date.UTC(2026, 0, 1) - 1, limit: times.length })
      expect({ given, times: ours.map(({ nominalMs }) => nominalMs) }).toEqual({ given, times })
    }
  })

  test.each([
    [{ week: '1-4' }, 'weeks'],
    [{ day: '1st fri', day_of_week: 'mon' }, 'with weekdays'],
    [{ hour: '25' }, 'not within'],
    [{ day_of_week: 'xyz' }, '"xyz"'],
    [{ year: '2026/2' }, 'years'],
    [{ minute: '5-1' }, 'not within'],
    [{ minute: '$' }, 'not understood']
  ])('that a schedule cannot express are rejected: %o', (given, words) => {
    expect(() => readCronTrigger(given)).toThrow(words)
  })
})

describe("ScrapydWeb's timer tasks", () => {
  test('become schedules that do the same', () => {
    const settings = { setting: ['DOWNLOAD_DELAY=2', 'USER_AGENT=a=b'], depth: '3', json: '{"a":1}' }
    makeScrapydWebDatabase(
      at('timer_tasks.db'),
      [
        { name: 'nightly', hour: '3', day_of_week: 'mon-fri', settings_arguments: JSON.stringify(settings) },
        { version: '2.1', selected_nodes: '[1, 2]', minute: '*/15', hour: '*', jitter: 30, coalesce: 'False' },
        { start_date: '2026-03-01 12:00:00', end_date: '2026-04-01 00:00:00', misfire_grace_time: null }
      ],
      { 1: '10.0.0.5:6800', 2: '10.0.0.6:6800' }
    )
    makeApschedulerDatabase(at('apscheduler.db'), { 1: 1_795_316_400, 2: null })
    const { schedules, notes } = imported({ from: 'scrapydweb' })
    expect(schedules).toMatchObject([
      {
        name: 'nightly',
        zone: 'Asia/Shanghai',
        rules: [{ cron: '0 3 * * 1-5' }],
        overlap: 'allow',
        catchUp: 'last',
        catchUpWindowSeconds: 600,
        jobs: [
          {
            project: 'shop',
            version: null,
            spiders: ['prices'],
            node: '10.0.0.5:6800',
            settings: { DOWNLOAD_DELAY: '2', USER_AGENT: 'a=b' },
            args: { depth: '3', json: '{{"a":1}' }
          }
        ]
      },
      {
        name: 'task_2',
        rules: [{ cron: '*/15 * * * *' }],
        jitterSeconds: 30,
        catchUp: 'all',
        paused: true,
        jobs: [
          { node: '10.0.0.5:6800', version: '2.1' },
          { node: '10.0.0.6:6800', version: '2.1' }
        ]
      },
      {
        name: 'task_3',
        start: '2026-03-01T04:00:00Z',
        end: '2026-03-31T16:00:00Z',
        catchUpWindowSeconds: 31_622_400,
        paused: true
      }
    ])
    expect(schedules[0]?.paused).toBeUndefined()
    expect(notes).toEqual([[], ['it is paused there, and here'], ['it has no next run there: paused here']])
  })

  test('that cannot be imported are reported, and the others are imported', () => {
    mkdirSync(at('data/database'), { recursive: true })
    makeScrapydWebDatabase(at('data/database/timer_tasks.db'), [
      { week: '5' },
      { timezone: 'Mars/Olympus' },
      { settings_arguments: 'no json' },
      { trigger: 'interval' },
      { start_date: 'soon' },
      { timezone: null, name: 'fine', selected_nodes: '[7]' }
    ])
    const { schedules, imported: all } = imported({ from: 'scrapydweb' })
    expect(schedules.map(({ name, zone, jobs }) => [name, zone, jobs[0]?.node])).toEqual([
      ['fine', 'Europe/Berlin', null]
    ])
    expect(all.filter(({ schedule }) => schedule === null)).toHaveLength(5)
    expect(all.map(({ notes }) => notes.join()).join('\n')).toMatch(
      /weeks 5.*\n.*Mars.*\n.*\n.*interval.*\n.*not a time\n.*Berlin.*node 7/
    )
  })
})

describe("Gerapy's tasks", () => {
  test('become schedules that do the same', () => {
    const clients = [
      { name: 'one', ip: '10.0.0.5', port: 6800 },
      { name: 'two', ip: '10.0.0.6', port: null }
    ]
    const task = (name: string, trigger: string, configuration: object, over = {}) => ({
      name,
      trigger,
      project: 'shop',
      spider: name,
      clients: '[1, 2]',
      configuration: JSON.stringify(configuration),
      ...over
    })
    mkdirSync(at('dbs'))
    makeGerapyDatabase(at('dbs/db.sqlite3'), clients, [
      task('cron', 'cron', { hour: '3', minute: '', day_of_week: 'sun', timezone: 'Asia/Hong_Kong' }),
      task(
        'interval',
        'interval',
        { hours: 1, minutes: '30', start_date: '2026-01-01 00:00:00' },
        { clients: '[2, 9]' }
      ),
      task('date', 'date', { run_date: '2026-07-01T08:00:00', timezone: 'Europe/Berlin' }),
      task('bad', 'date', { run_date: 'never' }),
      task('odd', 'moon', {})
    ])
    const { schedules, notes } = imported({ from: 'gerapy' })
    expect(schedules).toMatchObject([
      {
        name: 'cron',
        zone: 'Asia/Hong_Kong',
        rules: [{ cron: '0 3 * * 0' }],
        jobs: [{ node: 'http://10.0.0.5:6800/' }, { node: 'http://10.0.0.6:6800/' }]
      },
      {
        name: 'interval',
        rules: [{ every: 5_400, from: '2025-12-31T23:00:00Z' }],
        start: '2025-12-31T23:00:00Z',
        jobs: [{ node: 'http://10.0.0.6:6800/' }]
      },
      { name: 'date', rules: [{ once: '2026-07-01T06:00:00Z' }] }
    ])
    expect(notes.slice(3).flat().join()).toMatch(/dates is not a time.*"moon"/)
    expect(imported({ from: 'gerapy', anyNode: true }).schedules[0]?.jobs).toMatchObject([{ node: null }])
  })

  test('a file of another kind is recognized, and the error names the kind', () => {
    writeFileSync(at('db.sqlite3'), 'this is no database at all, but long enough to be taken for one by nobody')
    expect(() => imported({ from: 'gerapy' })).toThrow(/db\.sqlite3|cannot be read/)
    makeApschedulerDatabase(at('other.db'), {})
    expect(() => imported({ from: 'gerapy', path: at('other.db') })).toThrow('no table core_task')
    expect(() => imported({ from: 'scrapydweb' })).toThrow('Specify the file itself')
    expect(() => imported({ from: 'scrapydweb', path: at('nowhere') })).toThrow('There is no')
  })
})

describe('lines of a crontab', () => {
  const take = (text: string, over: Partial<ImportSchedulesOptions> = {}) =>
    imported({ from: 'crontab', text, ...over })

  test('that start spiders become schedules', () => {
    const { schedules } = take(
      `
MAILTO=me@example.com
# a comment
*/10 * * * * curl -s http://localhost:6800/schedule.json -d project=shop -d spider=prices -d setting=DOWNLOAD_DELAY=2 -d 'day='"$(date +\\%Y-\\%m-\\%d)" >/dev/null 2>&1
CRON_TZ=America/New_York
@daily cd /srv/shop && /usr/bin/env PYTHONPATH=. nice -n 10 python3 -m scrapy crawl stock -a 'list={a}' -s LOG_LEVEL=INFO
0 4 1 * 1 wget -qO- --post-data='project=shop&spider=prices&q=a%20b' http://me:pw@10.0.0.7:6800/schedule.json
30 2 * * mon-fri scrapyd-client schedule -t http://10.0.0.5:6800 -p shop --arg depth=2 --arg setting=A=b prices
`.replaceAll('a%20b', 'a\\%20b'),
      { project: 'shop' }
    )
    expect(schedules).toMatchObject([
      {
        name: 'shop prices',
        zone: 'Europe/Berlin',
        rules: [{ cron: '*/10 * * * *' }],
        catchUp: 'none',
        overlap: 'allow',
        jobs: [
          {
            project: 'shop',
            spiders: ['prices'],
            node: 'http://localhost:6800/',
            settings: { DOWNLOAD_DELAY: '2' },
            args: { day: '{nominal:yyyy-MM-dd}' }
          }
        ]
      },
      {
        name: 'shop stock',
        zone: 'America/New_York',
        rules: [{ cron: '@daily' }],
        jobs: [{ spiders: ['stock'], args: { list: '{{a}' }, settings: { LOG_LEVEL: 'INFO' }, node: null }]
      },
      {
        name: 'shop prices 2',
        rules: [{ cron: '0 4 1 * 1' }],
        jobs: [{ node: 'http://10.0.0.7:6800/', args: { q: 'a b' } }]
      },
      {
        name: 'shop prices 3',
        rules: [{ cron: '30 2 * * mon-fri' }],
        jobs: [{ node: 'http://10.0.0.5:6800/', args: { depth: '2' }, settings: { A: 'b' } }]
      }
    ])
    expect(JSON.stringify(schedules)).not.toContain('pw')
  })

  test.each([
    ['0 3 * * * /usr/local/bin/backup', 'starts no spider'],
    ['@reboot scrapy crawl x', '@reboot'],
    ['0 3 * * * scrapy crawl x', '--project'],
    ['0 99 * * * curl http://h/schedule.json -d project=p -d spider=s', 'hour'],
    ['0 3 * * * curl http://h/schedule.json -d project=p -d spider=$SPIDER', '$SPIDER'],
    ['0 3 * * * curl http://h/schedule.json -d project=p', 'has no project or no spider'],
    ["0 3 * * * curl 'http://h/schedule.json", 'not closed'],
    [
      '0 3 * * * curl h/schedule.json -d project=p -d spider=a; curl h/schedule.json -d project=p -d spider=b',
      'several'
    ],
    ['0 3 * * * scrapyd-client schedule -p p *', 'list them'],
    ['0 3 * * * scrapyd-client schedule -p p "price*"', 'list them'],
    ['0 3 * * * scrapyd-client schedule -p "shop-[ab]" prices', 'list them'],
    ['0 3 * * * curl -d project=p -d spider=s http://h1/schedule.json http://h2/schedule.json', 'several nodes'],
    ['0 3 * * * curl h/schedule.json -d @body', 'is a file'],
    ['0 3 * * * http --form h/schedule.json project=p spider=s list=@urls', 'is a file'],
    ['0 3 * * * flock -n /tmp/lock', 'starts no spider'],
    ['0 3 * * * timeout -k', 'starts no spider'],
    ['0 3 * * * flock -n /tmp/l flock /tmp/m', 'starts no spider'],
    ['0 3 * * * sh -c', 'starts no spider'],
    [
      '0 3 * * * curl h/schedule.json -d project=p -d spider=a -d day=$(date +%F)',
      'cron ends the command at its first %'
    ],
    ['gibberish', 'not a crontab line']
  ])('that cannot be imported are reported: %s', (line, words) => {
    const { schedules, notes } = take(line)
    expect(schedules).toEqual([])
    expect(notes.flat().join()).toContain(words)
  })

  test.each([
    ['curl http://h/schedule.json -d project=p -d spider=s -d a=1 -d a=2 -d spider=t', { a: '1' }],
    ['curl "http://h/schedule.json?a=1&a=2" -d project=p -d spider=s -d a=3 -d a=4', { a: '3' }],
    ['curl "http://h/schedule.json?b=1&b=2" -d project=p -d spider=s -d a=3', { a: '3', b: '1' }],
    ['curl http://h/schedule.json -F project=p -F spider=s -F a=1 -F a=2', { a: '1' }],
    ['wget --post-data="project=p&spider=s&a=1&a=2" http://h/schedule.json', { a: '1' }],
    ['http --form POST http://h/schedule.json project=p spider=s a=1 a=2', { a: '1' }],
    ['scrapyd-client schedule -t http://h -p p s --arg a=1 --arg a=2', { a: '1' }],
    ['scrapy crawl s -a a=1 -a a=2', { a: '2' }],
    ['curl http://h/schedule.json -d project=p -d spider=s -d setting=X=1 -d setting=Y=2 -d setting=X=3', {}]
  ])('use the value that the called program takes of a repeated name: %s', (command, args) => {
    const { schedules } = take(`0 3 * * * ${command}`, { project: 'p' })
    expect(schedules).toMatchObject([{ jobs: [{ project: 'p', spiders: ['s'] }] }])
    expect(schedules[0]!.jobs[0]).toMatchObject({
      args,
      settings: command.includes('setting') ? { X: '3', Y: '2' } : {}
    })
  })

  test.each([
    ['http --form POST http://h:6800/schedule.json project=p spider=s day= n=1', 'http://h:6800/', { day: '', n: '1' }],
    ['http --form http://h:6800/schedule.json project=p spider=s', 'http://h:6800/', {}],
    [
      'http -f -a me:pw :6800/schedule.json project=p spider=s X-Header:1 deep==yes',
      'http://localhost:6800/',
      {
        deep: 'yes'
      }
    ],
    ['https --form --ignore-stdin POST h/schedule.json project=p spider=s', 'https://h/', {}]
  ])('HTTPie sends forms: %s', (command, node, args) => {
    const { schedules } = take(`0 3 * * * ${command}`)
    expect(schedules).toMatchObject([{ jobs: [{ project: 'p', spiders: ['s'], node, args }] }])
    expect(Object.keys(schedules[0]!.jobs[0]!.args ?? {}).sort()).toEqual(Object.keys(args).sort())
  })

  test.each([
    'flock -n /tmp/s.lock CURL',
    'flock --wait 10 -E 0 /tmp/s.lock CURL',
    "flock /tmp/s.lock -c 'CURL'",
    'timeout 600 CURL',
    'timeout -k 5 --signal KILL 10m CURL',
    'nice CURL',
    'nice -n 10 CURL',
    'nice -10 CURL',
    'ionice -c 2 -n 7 CURL',
    'env -i -u HOME TZ=UTC CURL',
    'TZ=UTC LANG=C CURL',
    '/usr/bin/sudo -u scrapy -E CURL',
    "bash -lc 'cd /srv && CURL'",
    "su - scrapy -c 'CURL'",
    "/usr/bin/flock -n /tmp/l /usr/bin/timeout 1h nice -n 5 env A=b sh -c 'CURL' >/dev/null 2>&1"
  ])('are recognized behind other commands: %s', (line) => {
    const curl = 'curl -c /tmp/jar http://h/schedule.json -d project=p -d spider=s -d a=1'
    const { schedules } = take(`0 3 * * * ${line.replace('CURL', curl)}`)
    expect(schedules).toMatchObject([{ jobs: [{ project: 'p', spiders: ['s'], args: { a: '1' }, node: 'http://h/' }] }])
  })

  test('of the system have a user, and can leave the node to the queue', () => {
    const line = '0 3 * * * scrapy curl http://10.0.0.5:6800/schedule.json -d project=p -d spider=s && echo done'
    const { schedules, notes } = take(line, { hasUsers: true, anyNode: true })
    expect(schedules).toMatchObject([{ jobs: [{ project: 'p', spiders: ['s'], node: null }] }])
    expect(notes.flat()).toEqual(['the other commands of the line are dropped'])
  })
})
