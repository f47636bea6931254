import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, it, onTestFinished } from 'vitest'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, startEngine, startServer } from './testing/call.ts'

const JOB_ID = '019b0000000000000000000000000001'

/** Each command with as few arguments as possible. The first test fails if a command is missing here. */
const COMMANDS: Record<string, string[]> = {
  deploy: ['.'],
  run: ['shop', 'prices'],
  jobs: [],
  cancel: [JOB_ID],
  logs: [JOB_ID],
  items: [JOB_ID],
  errors: [],
  search: ['refused'],
  'nodes list': [],
  projects: [],
  versions: ['shop'],
  'nodes probe': ['http://10.0.0.5:6800'],
  'nodes edit': ['berlin', '--slots', '2'],
  'nodes add': ['http://10.0.0.5:6800'],
  'nodes add-pulling': ['behind-nat'],
  'nodes add-kubernetes': ['https://10.0.0.6:6443/api/v1/namespaces/crawls'],
  'nodes token': ['berlin'],
  'nodes cordon': ['berlin'],
  'nodes drain': ['berlin'],
  'nodes activate': ['berlin'],
  'nodes remove': ['berlin'],
  'schedules list': [],
  'schedules show': ['night'],
  'schedules create': ['night', '--project', 'shop', '--spider', 'prices', '--cron', '@daily'],
  'schedules preview': ['--cron', '@daily'],
  'schedules pause': ['night'],
  'schedules resume': ['night'],
  'schedules run': ['night'],
  'schedules history': [],
  'schedules backfill': ['night', '--from', '2026-01-01', '--until', '2026-01-02'],
  'schedules remove': ['night'],
  'storage usage': [],
  'storage prune': [],
  'engines list': [],
  'engines hand-over': [],
  'engines drain': ['north'],
  'engines undrain': ['north'],
  'users list': [],
  'users me': [],
  'users add': ['anna', '--role', 'viewer'],
  'users set': ['anna', '--role', 'operator'],
  'users remove': ['anna'],
  'tokens list': [],
  'tokens add': ['laptop'],
  'tokens revoke': ['0a1b2c3d'],
  'alerts list': [],
  'alerts ack': ['0a1b2c3d'],
  'alerts silence': ['--for', '2h'],
  'alerts silences': [],
  'alerts unsilence': ['0a1b2c3d'],
  'alerts rules': [],
  'alerts report': [],
  'groups list': [],
  'groups add': ['Crawl team', '--role', 'viewer'],
  'groups set': ['Crawl team', '--role', 'viewer'],
  'groups remove': ['Crawl team'],
  'roles list': [],
  'roles show': ['viewer'],
  'roles add': ['shop keeper', '--permission', 'jobs.run'],
  'roles set': ['shop keeper', '--permission', 'jobs.run'],
  'roles remove': ['shop keeper'],
  'audit list': [],
  'audit export': [],
  'audit verify': [],
  'sessions list': [],
  'sessions revoke': ['0a1b2c3d'],
  link: [],
  whoami: [],
  export: [],
  apply: ['fleet.yaml'],
  'import-schedules': ['crontab', 'crontab', '--any-node']
}

const FILES = {
  'scrapy.cfg': '[settings]\ndefault = shop.settings\n[deploy]\nproject = shop\n',
  'shop/settings.py': '',
  'fleet.yaml': 'version: 1\n',
  crontab: '0 3 * * * curl http://localhost:6800/schedule.json -d project=shop -d spider=prices\n'
}

/** Commands that take an address and need no password before the login (login.test.ts). */
const LOGINS = ['login to', 'login status', 'logout']

const leaves = (command: Command, path: string[] = []): { name: string; command: Command }[] =>
  command.commands.flatMap((one) =>
    one.commands.length > 0
      ? leaves(one, [...path, one.name()])
      : [{ name: [...path, one.name()].join(' '), command: one }]
  )

const wordsOf = (name: string) => [...name.split(' '), ...(COMMANDS[name] ?? [])]

it('every command accepts --json, and the list below has all of them', async () => {
  const { program } = await call(['completion', 'bash'])
  const commands = leaves(program)
  expect(commands.map(({ name }) => name).sort()).toEqual([...Object.keys(COMMANDS), ...LOGINS, 'completion'].sort())
  for (const { name, command } of commands)
    expect([name, command.options.some(({ long }) => long === '--json')]).toEqual([name, true])
})

it('each command exits with 3 for an unreachable engine, 4 for a wrong password and 2 for a wrong option', async () => {
  const { url } = await startEngine()
  const directory = makeDirectory(FILES)
  for (const name of Object.keys(COMMANDS)) {
    const words = wordsOf(name)
    const nobody = await call(words, { url: 'http://127.0.0.1:2', directory })
    expect([name, nobody.code, nobody.error]).toEqual([
      name,
      EXIT_CODES.unreachable,
      'No Scrapdeck responds at http://127.0.0.1:2 (ECONNREFUSED). Start it, or name another with --url, SCRAPDECK_URL or --port.'
    ])
    const refused = await call(words, { url, password: 'wrong', directory })
    expect([name, refused.code, refused.error]).toEqual([
      name,
      EXIT_CODES.unauthorized,
      expect.stringMatching(/password/i)
    ])
    const wrong = await call([...words, '--no-such-option'], { url, directory })
    expect([name, wrong.code, wrong.error]).toEqual([
      name,
      EXIT_CODES.usage,
      expect.stringContaining("unknown option '--no-such-option'")
    ])
  }
})

it('an unknown certificate is reported at once with what to do, and the password is never sent', async () => {
  const directory = makeDirectory()
  const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'ca.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  execFileSync('openssl', ['req', '-x509', ...curve, '-subj', '/CN=elsewhere', ...files], { stdio: 'ignore' })
  let asked = 0
  const options = { key: readFileSync(join(directory, 'key.pem')), cert: readFileSync(join(directory, 'ca.pem')) }
  const server = createTlsServer(options, () => void (asked += 1)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { code, error } = await call(['jobs'], { url: `https://127.0.0.1:${port}` })
  expect([code, error]).toEqual([
    EXIT_CODES.unreachable,
    `https://127.0.0.1:${port} has a certificate that was issued by an unknown authority. For a private CA, set NODE_EXTRA_CA_CERTS=ca.pem.`
  ])
  const plain = await call(['jobs'], { url: `http://127.0.0.1:${port}` })
  expect([plain.code, plain.error]).toEqual([EXIT_CODES.unreachable, expect.stringContaining('use https://')])
  expect(asked).toBe(0)
})

it('https:// to a plain HTTP server says so', async () => {
  const { url } = await startEngine()
  const { code, error } = await call(['jobs'], { url: url.replace('http:', 'https:') })
  expect([code, error]).toEqual([EXIT_CODES.unreachable, expect.stringContaining('does not use TLS. Use http://')])
})

it('an engine of another version is detected by a missing operation or an unknown response', async () => {
  const without = await startServer((request, response) =>
    response.writeHead(404, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        defined: false,
        code: 'NOT_FOUND',
        status: 404,
        data: {},
        message: `The API has no ${request.method} ${request.url}.`
      })
    )
  )
  const missing = await call(['export'], { url: without })
  expect([missing.code, missing.error]).toEqual([
    EXIT_CODES.failed,
    'The API has no GET /api/v1/fleet-file. That Scrapdeck is a different version than this command line: update the older one.'
  ])
  const other = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"rows":[]}')
  })
  const strange = await call(['nodes', 'list'], { url: other })
  expect([strange.code, strange.error]).toEqual([
    EXIT_CODES.failed,
    expect.stringContaining('may be a different version')
  ])
})

it('login proxies, broken proxies and other APIs are not mistaken for Scrapdeck', async () => {
  for (const [status, type, code] of [
    [401, 'text/html', EXIT_CODES.unauthorized],
    [502, 'text/html', EXIT_CODES.unreachable],
    [200, 'text/html; charset=utf-8', EXIT_CODES.unreachable],
    [404, 'application/json', EXIT_CODES.unreachable]
  ] as const) {
    const url = await startServer((_request, response) =>
      response.writeHead(status, { 'content-type': type }).end('[]')
    )
    const ended = await call(['jobs'], { url })
    expect([ended.code, ended.error]).toEqual([code, expect.stringContaining('Is the address right?')])
  }
})

const netrc = (text: string, mode = '600') => {
  const home = makeDirectory({ '.netrc': text })
  execFileSync('chmod', [mode, join(home, '.netrc')])
  return home
}
const OF_OURS = 'machine 127.0.0.1 login scrapdeck password "correct horse: battery"\n'

it('deploy and other commands read user and password from ~/.netrc, like scrapyd-deploy', async () => {
  const { url } = await startEngine()
  const target = `[deploy]\nproject = shop\nusername = somebody\n[deploy:prod]\nurl = ${url}/\nusername =\n`
  const directory = makeDirectory({ ...FILES, 'scrapy.cfg': `[settings]\ndefault = shop.settings\n${target}` })
  const home = netrc(OF_OURS)
  // Credentials for another engine are not sent to a target of scrapy.cfg.
  const elsewhere = { directory, home, url: 'https://deck.example.org', password: 'of deck.example.org' }
  expect(await call(['deploy', '-t', 'prod'], elsewhere)).toMatchObject({ code: 0 })
  expect(
    await call(['jobs', '--url', url], { home, url: '', password: '', environment: { SCRAPDECK_USERNAME: '' } })
  ).toMatchObject({ code: 0 })
  const open = await call(['deploy', '-t', 'prod'], { ...elsewhere, home: netrc(OF_OURS, '644') })
  expect([open.code, open.error]).toEqual([EXIT_CODES.unauthorized, expect.stringContaining('chmod 600')])
  // Credentials in the target take precedence.
  const named = makeDirectory({
    ...FILES,
    'scrapy.cfg': `[settings]\ndefault = shop.settings\n${target}`.replace(
      'username =\n',
      'username = scrapdeck\npassword = wrong\n'
    )
  })
  expect(await call(['deploy', '-t', 'prod'], { ...elsewhere, directory: named })).toMatchObject({
    code: EXIT_CODES.unauthorized
  })
})

it('$NAME in scrapy.cfg is replaced by an environment variable', async () => {
  const { url } = await startEngine()
  const target = `[deploy:prod]\nurl = ${url}/\nusername = scrapdeck\npassword = \${DECK_PASSWORD}\nproject = $PROJECT\nversion = $UNSET\n`
  const directory = makeDirectory({ ...FILES, 'scrapy.cfg': `[settings]\ndefault = shop.settings\n${target}` })
  const environment = { DECK_PASSWORD: 'correct horse: battery', PROJECT: 'store' }
  const words = ['deploy', '-t', 'prod', '-v', '3', '--expand-variables']
  const { code, out } = await call(words, { directory, environment })
  expect([code, out]).toEqual([0, expect.stringContaining('store 3 was uploaded')])
})
