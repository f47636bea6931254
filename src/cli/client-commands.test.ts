import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EXIT_CODES } from './client/exit-codes.ts'
import { createFakeEngine } from '../server/testing/fake-engine.ts'
import { call, makeDirectory, openServer, startEngine, startServer } from './testing/call.ts'

const JOB_ID = '019b0000000000000000000000000001'
const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

it('queues runs with arguments and settings, and prints their ids', async () => {
  const { url } = await startEngine()
  const { code, out } = await call(
    ['run', 'shop', 'prices', 'quotes', '-a', 'day=2026=11', '-a', 'x=', '-s', 'LOG_LEVEL=INFO'],
    { url }
  )
  // The text after the colon is this engine's reason for waiting.
  const lines = out.split('\n').map((line) => line.replace(/: .*/, ''))
  expect([code, lines]).toEqual([0, [`${JOB_ID}  queued`, `${JOB_ID}  queued`, '']])
})

it('--json prints the response of the API', async () => {
  const { url } = await startEngine()
  const { out } = await call(['run', 'shop', 'prices', '-a', 'day=2026=11', '--json'], { url })
  expect(JSON.parse(out)).toMatchObject({
    jobs: [{ id: JOB_ID, project: 'shop', spider: 'prices', args: { day: '2026=11' } }]
  })
})

it('lists jobs as columns, without terminal control characters', async () => {
  const { url } = await startEngine()
  const { out } = await call(['jobs', '--project', '\u001b]0;owned\u0007shop', '--limit', '1'], { url })
  const [header, row, ...rest] = out.split('\n')
  expect(header).toMatch(/^ID {32}STATUS {2}PROJECT {7}SPIDER {2}NODE {2}SCHEDULE {2}AGE +ITEMS {2}WHY$/)
  expect(row).toMatch(new RegExp(`^${JOB_ID} {2}queued {2}\\]0;ownedshop {2}quotes {2}- +- +\\d+ \\w+ +- +\\S`))
  expect(rest).toEqual([''])
})

it.each([
  [['jobs', JOB_ID], 'notFound', 'There is no job'],
  [['jobs', '--status', 'odd'], 'usage', 'odd is not a status'],
  [['jobs', '--limit', '0'], 'usage', '--limit takes a number from 1'],
  [['jobs', '--limit', 'many'], 'usage', 'Write a whole number'],
  [['run', 'shop'], 'usage', "missing required argument 'spider'"],
  [['run', 'shop', 'prices', '-a', 'novalue'], 'usage', 'Write name=value'],
  [['cancel', JOB_ID, '--fast'], 'usage', "unknown option '--fast'"],
  [['nodes', 'cordon', 'berlin'], 'notFound', 'There is no node berlin. There are none'],
  [['schedules', 'preview'], 'usage', 'Give a time with --cron'],
  [['completion', 'tcsh'], 'usage', 'There is completion for bash, zsh, fish'],
  [['deploy', '-t', 'prod'], 'usage', 'has no [deploy:prod]'],
  [['deploy'], 'usage', 'There is no scrapy.cfg'],
  [['deploy', 'gone'], 'usage', 'There is no '],
  [['logs', JOB_ID], 'failed', 'does not do this'],
  [['jobs', '--url', 'ftp://x'], 'usage', 'ftp://x is not an address']
] as const)('%j exits with the code for %s', async (words, code, message) => {
  const { url } = await startEngine()
  const ended = await call([...words], { url })
  expect(ended.error).toContain(message)
  expect(ended.code).toBe(EXIT_CODES[code])
})

it('a wrong password, an unreachable server, and a server that is not Scrapdeck have exit codes of their own', async () => {
  const { url } = await startEngine()
  const wrong = await call(['jobs'], { url, password: 'wrong' })
  expect([wrong.code, wrong.error]).toEqual([
    EXIT_CODES.unauthorized,
    expect.stringContaining(`${url} refused the user name "scrapdeck" or its password (from SCRAPDECK_PASSWORD)`)
  ])
  const stripping = await startServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ code: 'UNAUTHORIZED', status: 401, data: { credentials: 'missing' }, message: '' }))
  })
  expect((await call(['jobs'], { url: stripping })).error).toContain('A proxy in between may remove')
  const nobody = await call(['jobs'], { url: 'http://127.0.0.1:1' })
  expect([nobody.code, nobody.error]).toEqual([
    EXIT_CODES.unreachable,
    expect.stringContaining('No Scrapdeck responds at http://127.0.0.1:1')
  ])
  const scrapyd = await startServer((_request, response) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html>')
  )
  expect(await call(['jobs'], { url: scrapyd })).toMatchObject({ code: EXIT_CODES.unreachable })
})

it('sends no local password to another machine, and never follows a redirect with one', async () => {
  const elsewhere = await call(['jobs'], { url: 'http://deck.example.org', password: '' })
  expect([elsewhere.code, elsewhere.error]).toEqual([
    EXIT_CODES.unauthorized,
    expect.stringContaining('No password for http://deck.example.org')
  ])
  let followed = 0
  const thief = await startServer((_request, response) => {
    followed += 1
    response.end()
  })
  const url = await startServer((_request, response) => response.writeHead(302, { location: thief }).end())
  expect((await call(['jobs'], { url })).code).toBe(EXIT_CODES.unreachable)
  expect(followed).toBe(0)
})

it('errors lists the errors that spiders logged, in groups', async () => {
  const { url } = await startEngine()
  const { code, out } = await call(['errors', '--state', 'all', '--new-in', '1.4.0'], { url })
  expect([code, out]).toEqual([0, expect.stringMatching(/17 +open +41 +3 +shop +prices +1\.4\.0 .+ in parse/)])
  expect(JSON.parse((await call(['errors', '--json'], { url })).out)).toMatchObject({ groups: [{ id: 17, count: 41 }] })
})

it('link creates a login link at SCRAPDECK_URL, --url or the service on this machine', async () => {
  const { url } = await startEngine()
  const { code, out } = await call(['link'], { url })
  expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^${url}/ui/login\\?token=[\\w-]{43}\n$`))])
  expect((await fetch(out.trim(), { redirect: 'manual' })).headers.get('location')).toBe('/ui/')
  const dataDirectory = makeDirectory({
    'credentials.json': JSON.stringify({ username: 'scrapdeck', password: 'correct horse: battery' })
  })
  const address = await openServer(createFakeEngine(), { dataDirectory })
  const local = { password: '', environment: { SCRAPDECK_USERNAME: '' }, service: { dataDirectory, port: null } }
  expect((await call(['link', '--json'], local)).out).toContain(`"url": "${address}/ui/login?token=`)
  const elsewhere = await call(['link'], { url: 'http://127.0.0.1:2' })
  expect([elsewhere.code, elsewhere.error]).toEqual([EXIT_CODES.unreachable, expect.stringContaining('127.0.0.1:2')])
  const socket = join(makeDirectory(), 's')
  await openServer(createFakeEngine(), { dataDirectory, socket })
  expect((await call(['link'], local)).error).toContain('Browsers cannot reach unix:')
})

it('a write whose connection broke is sent again with the same key', async () => {
  const keys: unknown[] = []
  const url = await startServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    if (keys.length === 1) request.socket.destroy()
    else response.setHeader('content-type', 'application/json').end('{"asked":[],"alreadyEnded":["x"]}')
  })
  expect(await call(['cancel', JOB_ID], { url })).toMatchObject({ code: 0, out: '1 job had already ended.\n' })
  expect(keys).toHaveLength(2)
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(keys[1]).toBe(keys[0])
})

it('--wait exits with a code of its own if a job did not succeed', async () => {
  let asked = 0
  const url = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'POST')
      return response.end(JSON.stringify({ jobs: [{ id: JOB_ID, status: 'queued', waiting: null }] }))
    asked += 1
    const progress = asked < 3 ? { state: 'running' } : { state: 'ended', outcome: 'failed', reason: 'exit code 1' }
    return response.end(JSON.stringify(progress))
  })
  const { code, out } = await call(['run', 'shop', 'prices', '--wait'], { url })
  expect([code, out]).toEqual([EXIT_CODES.badOutcome, `${JOB_ID}  queued\n${JOB_ID}  failed (exit code 1)\n`])
})

it('logs -f resumes where a connection dropped, and ends with the log', async () => {
  const asked: (string | undefined)[] = []
  const url = await startServer((request, response) => {
    if (request.url?.endsWith('/status'))
      return response.setHeader('content-type', 'application/json').end('{"state":"running"}')
    asked.push(request.url?.split('?')[1])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (offset: number, text: string, complete: boolean) =>
      response.write(
        `event: message\ndata: ${JSON.stringify({ offset, nextOffset: offset + text.length, sizeBytes: 99, text, complete })}\n\n`
      )
    if (asked.length === 1) send(5, 'one\ntwo\n', false)
    else send(13, 'three\n', true)
    // Drop the first stream after its chunk has been sent.
    if (asked.length === 1) setImmediate(() => setTimeout(() => response.destroy(), 50))
    else response.end('event: done\n\n')
  })
  const { code, out } = await call(['logs', '-f', '-n', '1', JOB_ID], { url })
  expect([code, out]).toEqual([0, 'two\nthree\n'])
  expect(asked).toEqual(['tailBytes=262144', 'offset=13'])
})

it('search prints each line with its place, and says when it stopped early', async () => {
  const asked: (string | undefined)[] = []
  const url = await startServer((request, response) => {
    asked.push(request.url?.split('?')[1])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const hit = { jobId: JOB_ID, project: 'shop', spider: 'prices', line: 12, text: 'timed\u001b[2J out' }
    response.write(`event: message\ndata: ${JSON.stringify({ hits: [hit], stoppedBy: null })}\n\n`)
    response.write(`event: message\ndata: ${JSON.stringify({ hits: [], stoppedBy: 'time' })}\n\n`)
    response.end('event: done\n\n')
  })
  const { code, out, error } = await call(['search', 'timed? out', '--regex', '--level', 'error'], { url })
  expect([code, out]).toEqual([0, `${JOB_ID} shop/prices:12: timed[2J out\n`])
  expect(error).toContain('limit: time')
  expect(asked).toEqual(['text=timed%3F+out&isRegex=true&matchesCase=false&minLevel=ERROR'])
})

it('a log on a terminal keeps no control characters except colours; in a file it is unchanged', async () => {
  const text = '\u001b[31mred\u001b[0m \u001b[2J\u009b5n\tdone\r\n'
  const url = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ offset: 0, nextOffset: 9, sizeBytes: 9, text, complete: true }))
  })
  expect((await call(['logs', JOB_ID], { url, isTerminal: true })).out).toBe(
    '\u001b[31mred\u001b[0m [2J5n\tdone\u001b[0m\n'
  )
  expect((await call(['logs', JOB_ID], { url })).out).toBe(text)
})

it('items are printed or written to a file; Parquet only to a file', async () => {
  const { url } = await startEngine()
  expect(await call(['items', JOB_ID, '--format', 'csv'], { url })).toMatchObject({ code: 0, out: 'name,price\r\n' })
  const directory = makeDirectory({})
  expect((await call(['items', JOB_ID, '-o', 'items.jl', '--json'], { url, directory })).out).toContain('"items": 118')
  expect(readFileSync(join(directory, 'items.jl'), 'utf8')).toBe('name,price\r\n')
  expect(await call(['items', JOB_ID, '--format', 'parquet'], { url })).toMatchObject({
    code: EXIT_CODES.usage,
    error: expect.stringContaining('--output')
  })
})

const PROJECT = {
  'scrapy.cfg': '[settings]\ndefault = shop.settings\n',
  'shop/__init__.py': '',
  'shop/settings.py': '',
  '.env': 'SECRET=1'
}

it('deploys a folder as an egg; project and version come from the options', async () => {
  const { url } = await startEngine()
  const directory = makeDirectory(PROJECT)
  const { code, out } = await call(['deploy', '-p', 'shop', '-v', '7'], { url, directory: join(directory, 'shop') })
  const unlisted = 'No node can list them now: start or add one (scrapdeck nodes add), or give this machine slots.'
  expect([code, out]).toEqual([0, `shop 7 was uploaded (its spiders are not listed yet).\n${unlisted}\n`])
  const json = await call(['deploy', directory, '--json'], { url })
  expect(JSON.parse(json.out)).toMatchObject({ version: 'project.egg', sizeBytes: expect.any(Number) })
})

it.each<[{ spiders: string[] | null; pinnedVersion?: string; nodes?: object[] }, string]>([
  [{ spiders: [] }, '0 spiders).\nIt has no spiders: check SPIDER_MODULES in its settings.\n'],
  [
    { spiders: ['a', 'b'], pinnedVersion: '1' },
    '2 spiders: a, b). shop stays pinned to 1: jobs that name no version run that one.\n'
  ],
  [{ spiders: null, nodes: [{ slots: 1, health: 'up' }] }, 'A node lists them as soon as one can import the code.\n']
])('deploy says what an uploaded version can run: %j', async ({ nodes = [], ...version }, said) => {
  const url = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    const uploaded = { project: 'shop', version: '2', pinnedVersion: null, ...version }
    response.end(JSON.stringify(request.method === 'POST' ? uploaded : { nodes }))
  })
  const { code, out } = await call(['deploy'], { url, directory: makeDirectory(PROJECT) })
  expect([code, out]).toEqual([0, expect.stringMatching(/^shop 2 was uploaded \(/)])
  expect(out.endsWith(said)).toBe(true)
})

it('deploy says that nothing was saved if the spiders cannot be imported', async () => {
  const refusal = { defined: true, code: 'EGG_IMPORT_FAILED', status: 422, message: 'No module named x', data: {} }
  const url = await startServer((_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(refusal))
  })
  const { code, error } = await call(['deploy'], { url, directory: makeDirectory(PROJECT) })
  expect(code).not.toBe(0)
  expect(error).toMatch(/^No module named x\nNothing was saved\. Fix the code/)
})

it('deploys to a target in scrapy.cfg with its credentials, like scrapyd-deploy', async () => {
  const { url } = await startEngine()
  const target = `[deploy]\nproject = store\n[deploy:prod]\nurl = ${url}/\nusername = scrapdeck\npassword = correct horse: battery\nversion = GIT\n`
  const directory = makeDirectory({ ...PROJECT, 'scrapy.cfg': PROJECT['scrapy.cfg'] + target })
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], { cwd: directory })
  git('init', '-q', '-b', 'feature/x')
  git('commit', '-q', '--allow-empty', '-m', 'one')
  const other = { directory, url: 'http://127.0.0.1:1', password: 'of somebody else' }
  expect(await call(['deploy', '-t', 'prod'], other)).toMatchObject({
    code: 0,
    out: expect.stringContaining('store r1-feature_x was uploaded (its spiders are not listed yet).\n')
  })
  const listed = await call(['deploy', '-l', '--json'], { directory })
  expect(JSON.parse(listed.out).targets.map(({ name }: { name: string }) => name)).toEqual(['default', 'prod'])
  expect(listed.out).not.toContain('battery')
})

it('the [deploy] section of scrapy.cfg applies only without an explicit address', async () => {
  const { url } = await startEngine()
  const target = '[deploy]\nurl = http://127.0.0.1:1/\nusername = a\npassword = b\nproject = store\n'
  const directory = makeDirectory({ ...PROJECT, 'scrapy.cfg': PROJECT['scrapy.cfg'] + target })
  expect(await call(['deploy'], { directory })).toMatchObject({ code: EXIT_CODES.unreachable })
  expect(await call(['deploy'], { directory, url })).toMatchObject({ code: 0 })
})

it('shows schedules by name, creates them from flags, and previews them', async () => {
  const { url } = await startEngine()
  const list = await call(['schedules', 'list'], { url })
  expect([list.code, list.out]).toEqual([0, expect.stringMatching(/^NAME +STATE +RUNS +NEXT +LAST +WHEN +ID\n/)])
  const created = await call(
    [
      'schedules',
      'create',
      'nightly',
      '--project',
      'shop',
      '--spider',
      'prices',
      '--cron',
      '30 2 * * *',
      '--zone',
      'UTC'
    ],
    { url }
  )
  expect([created.code, created.out]).toEqual([0, expect.stringMatching(/^Created .+ \([0-9a-f]{32}\)\. Next: /)])
  const preview = await call(['schedules', 'preview', '--cron', '@daily', '--json'], { url })
  expect(JSON.parse(preview.out).occurrences.length).toBeGreaterThan(0)
  const history = await call(['schedules', 'history', '--missed'], { url })
  expect([history.code, history.out]).toEqual([0, expect.stringMatching(/^SCHEDULE +FOR +STATE/)])
})

it('completion for bash suggests commands, subcommands and options', async () => {
  const { out } = await call(['completion', 'bash'])
  const complete = (...words: string[]) =>
    execFileSync('bash', [
      '-c',
      `${out}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scrapdeck; echo "\${COMPREPLY[*]}"`,
      'bash',
      'scrapdeck',
      ...words
    ])
      .toString()
      .trim()
  expect(complete('sch')).toBe('schedules')
  expect(complete('nodes', 'a')).toBe('add add-pulling add-kubernetes activate')
  expect(complete('nodes', 'p')).toBe('probe')
  expect(complete('v')).toBe('versions')
  expect(complete('jobs', '--w')).toBe('--watch')
  expect(complete('schedules', 'create', 'x', '--sp')).toBe('--spider')
  expect(complete('run', 'shop', 'prices', '--no')).toBe('--node --no-overlap')
  // bash completes file names where we have no suggestions.
  expect(complete('apply', '')).toBe('')
})

it.each(['zsh', 'fish'])('completion for %s has every command with its quoted description', async (shell) => {
  const { out, program } = await call(['completion', shell])
  for (const command of program.commands) expect(out).toContain(command.name())
  expect(out).toContain("'nodes add'")
  expect(out).not.toContain('undefined')
})

it('docs/cli.md has every command and every exit code, and no other', async () => {
  const { program } = await call(['completion', 'bash'])
  const named = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((part) => `${command.name()} ${part.name()}`)
  )
  const written = [...page.matchAll(/^\| `([a-z-]+(?: [a-z-]+)?)[^|]*` \|/gm)].map((match) => match[1] as string)
  expect(written.sort()).toEqual(named.sort())
  const codes = [...page.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]))
  expect(codes).toEqual(Object.values(EXIT_CODES))
})
