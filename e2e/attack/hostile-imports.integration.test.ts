import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import DatabaseConstructor from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { SERVICE_ENTRY } from '../support/service.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** The time limit of an import. Only a reader that never ends exceeds it. */
const LIMIT_MS = 60_000
const QUEUE = 'CREATE TABLE spider_queue (id INTEGER PRIMARY KEY, priority REAL, message TEXT)'
const FINISHED = '(id INTEGER PRIMARY KEY, project, spider, job, start_time, end_time)'
const ENDLESS = 'WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x FROM r'
const TIMES = "'2026-01-01 00:00:00', '2026-01-01 00:00:01'"
const good = (job: string) => `CREATE TABLE finished_jobs ${FINISHED};
  INSERT INTO finished_jobs VALUES (1, 'p', 's', '${job}', ${TIMES})`

const DATABASES: Record<string, string> = {
  good: good('good'),
  'beside-a-pipe': good('beside-a-pipe'),
  view: `CREATE VIEW finished_jobs AS ${ENDLESS}; CREATE VIEW spider_queue AS ${ENDLESS}`,
  virtual: `CREATE VIRTUAL TABLE finished_jobs USING fts5 (id, project, spider, job, start_time, end_time);
    INSERT INTO finished_jobs VALUES (1, 'p', 's', 'virtual', ${TIMES})`,
  computed: `CREATE TABLE finished_jobs (id INTEGER, project AS (printf('%.*c', 300000000, 'x')),
    spider, job, start_time, end_time); INSERT INTO finished_jobs (id) VALUES (1), (2)`,
  trigger: `${QUEUE}; CREATE TRIGGER planted BEFORE INSERT ON spider_queue BEGIN ${ENDLESS}; END`,
  types: `CREATE TABLE spider_queue (id, priority, message);
    INSERT INTO spider_queue VALUES ('x', 'y', 12), (x'00', x'00', x'ff00'), (NULL, NULL, NULL), (3, 9e999, '[]')`,
  'too-long': `${QUEUE}; INSERT INTO spider_queue VALUES (1, 1, printf('"%.*c"', 5000000, 'x'))`,
  columns: 'CREATE TABLE finished_jobs (id INTEGER PRIMARY KEY)',
  shown: `CREATE TABLE finished_jobs ${FINISHED};
    INSERT INTO finished_jobs VALUES (1, 'p', 's', 'evil' || char(0x202e, 27) || '[2J', ${TIMES})`
}

async function scrapdeck(...words: string[]): Promise<{ code: number | null; output: string }> {
  const given = { cwd: ROOT, timeout: LIMIT_MS, killSignal: 'SIGKILL' as const, maxBuffer: 1e8 }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [SERVICE_ENTRY, ...words], given)
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number | null; stdout: string; stderr: string }
    return { code, output: stdout + stderr }
  }
}

async function aPlace() {
  const directory = await makeTemporaryDirectory()
  onTestFinished(directory.remove)
  return directory.path
}

test.runIf(process.platform !== 'win32')(
  'an import skips and names whatever a hostile Scrapyd has left, and imports the valid data beside it',
  async () => {
    const place = await aPlace()
    const [source, temporary] = [join(place, 'scrapyd'), join(place, 'temporary')]
    const dbs = join(source, 'dbs')
    for (const path of [dbs, join(source, 'logs/p/s'), join(source, 'eggs/p'), temporary])
      mkdirSync(path, { recursive: true })
    for (const [name, sql] of Object.entries(DATABASES)) {
      const database = new DatabaseConstructor(join(dbs, `${name}.db`))
      database.exec(sql)
      database.close()
    }
    const pipes = ['twistd.pid', 'dbs/beside-a-pipe.db-wal', 'dbs/pipe.db', 'logs/p/s/pipe.log', 'eggs/p/1.egg']
    execFileSync(
      'mkfifo',
      pipes.map((name) => join(source, name))
    )
    writeFileSync(join(dbs, 'noise.db'), Buffer.alloc(9_000, 'noise'))
    writeFileSync(join(source, 'scrapyd.conf'), '[settings]\ntoo-long = one.settings\ntypes = one.settings\n')
    for (const [name, target] of Object.entries({
      'dbs/device.db': '/dev/zero',
      'logs/p/s/device.log': '/dev/zero',
      'logs/p/s/link.log': '/etc/passwd',
      'eggs/p/2.egg': '/dev/zero'
    }))
      symlinkSync(target, join(source, name))
    const data = join(place, 'data')
    const { code, output } = await scrapdeck('import-scrapyd', source, `--data=${data}`)
    expect(output).not.toMatch(/[\u202e\u001b]/)
    expect(output).toMatch(/the finished job "evil⟨U\+202E⟩/)
    expect(output).toMatch(/the pending job in row 1 of too-long: its message is too long/)
    for (const name of ['virtual', 'computed', 'columns', 'noise', 'view'])
      expect(output).toMatch(new RegExp(`skipped \\S+/${name}\\.db: it cannot be read`))
    expect(output).toMatch(/finished jobs: 2 imported/)
    expect(output).toMatch(/logs: 0 imported/)
    expect(output).toMatch(/eggs: 0 imported, 0 already known, 2 skipped/)
    expect(code).toBe(0)
  },
  LIMIT_MS * 2
)

test.runIf(process.platform !== 'win32')(
  'a pipe in place of a database of schedules is refused at once',
  async () => {
    const place = await aPlace()
    execFileSync('mkfifo', [join(place, 'timer_tasks.db')])
    const { code, output } = await scrapdeck('import-schedules', 'scrapydweb', place)
    expect([code, output]).toEqual([2, expect.stringContaining('it is not a regular file')])
    expect(readdirSync(place)).toEqual(['timer_tasks.db'])
  },
  LIMIT_MS * 2
)
