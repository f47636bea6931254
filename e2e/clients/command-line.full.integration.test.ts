import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { SERVICE_ENTRY } from '../support/service.ts'

const root = resolve(import.meta.dirname, '../..')

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-command-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolveRun) => {
    execFile(process.execPath, [SERVICE_ENTRY, ...args], { cwd: root, timeout: 30_000 }, (error, stdout, stderr) => {
      resolveRun({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}

async function startServe(dataDirectory: string, ...more: string[]) {
  const args = [SERVICE_ENTRY, 'serve', '--port', '0', '--data', dataDirectory, '--local-slots', '0', ...more]
  const child: ChildProcess = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed = { stdout: '', stderr: '' }
  child.stdout?.on('data', (piece) => {
    printed.stdout += piece
  })
  child.stderr?.on('data', (piece) => {
    printed.stderr += piece
  })
  await until(
    'the service to be ready',
    async () => printed.stdout,
    (text) => text.split('\n').length > (more.includes('--json') ? 1 : 2)
  )
  const [ready = '', link = ''] = printed.stdout.split('\n')
  return {
    child,
    printed,
    ready,
    link,
    address: ready.split(' ').at(-1) as string,
    port: ready.split(':').at(-1) as string
  }
}

it('serve prints only that it is ready and the link; SIGTERM ends it with exit code 0', async () => {
  const { child, printed, ready, link, address } = await startServe(makeDirectory())
  expect(ready).toMatch(/^Scrapdeck is ready on http:\/\/127\.0\.0\.1:\d+$/)
  expect(link).toMatch(
    /^Open http:\/\/127\.0\.0\.1:\d+\/ui\/login\?token=[\w-]{43} in your browser \(works once, for 10 minutes\)$/
  )
  expect(await (await fetch(`${address}/health`)).json()).toMatchObject({ status: 'ok', reasons: [] })
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(printed.stdout.split('\n')).toHaveLength(3)
})

it('serve on a terminal logs lines with time, level, text and client, and says where its data is and how to stop it', async () => {
  const directory = makeDirectory()
  const { printed, address } = await startServe(directory, '--readable-log')
  await fetch(`${address}/daemonstatus.json`, { headers: { authorization: `Basic ${btoa('me:wrong')}` } })
  await until(
    'the log',
    async () => printed.stderr,
    (text) => text.includes('Login failed')
  )
  expect(printed.stderr).toMatch(
    /^\[\d\d:\d\d:\d\d\] WARN: Login failed: wrong user name or password \{"address":"127.0.0.1","username":"me"\}$/m
  )
  expect(printed.stdout.split('\n').slice(2).join('\n')).toBe(
    `Data: ${directory}. Press Ctrl-C to stop; running spiders continue.\n`
  )
})

it('credentials and link find the running service', async () => {
  const dataDirectory = makeDirectory()
  const { address, port } = await startServe(dataDirectory)
  const credentials = await run('credentials', '--data', dataDirectory, '--port', port)
  const password = /^password = (.*)$/m.exec(credentials.stdout)?.[1] as string
  const authorization = basicAuthorization({ username: 'scrapdeck', password })
  expect((await fetch(`${address}/daemonstatus.json`, { headers: { authorization } })).status).toBe(200)
  const link = await run('link', '--data', dataDirectory, '--port', port)
  expect((await fetch(link.stdout.trim(), { redirect: 'manual' })).headers.get('location')).toBe('/ui/')
})

it('a browser stays logged in across a restart of the service', async () => {
  const dataDirectory = makeDirectory()
  const first = await startServe(dataDirectory)
  const login = await fetch(first.link.split(' ')[1] as string, { redirect: 'manual' })
  const cookie = String(login.headers.get('set-cookie')).split(';', 1)[0] as string
  first.child.kill('SIGINT')
  await once(first.child, 'exit')
  const second = await startServe(dataDirectory, '--port', first.port)
  const headers = { cookie }
  expect((await fetch(`${second.address}/api/v1/nodes`, { headers })).status).toBe(200)
})

it('a second service on the same data is refused in one line', async () => {
  const dataDirectory = makeDirectory()
  await startServe(dataDirectory)
  const second = await run('serve', '--port', '0', '--data', dataDirectory)
  expect([second.code, second.stdout]).toEqual([1, ''])
  expect(second.stderr).toMatch(/^scrapdeck: .*\n$/)
  expect(second.stderr).toContain(dataDirectory)
})

it('a port in use or an invalid data directory is refused in one line', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  const taken = await run('serve', '--port', String(port), '--data', makeDirectory(), '--local-slots', '0')
  expect([taken.code, taken.stdout, taken.stderr]).toEqual([
    1,
    '',
    `scrapdeck: Port ${port} of 127.0.0.1 is in use by another program. Stop it, or choose another with --port.\n`
  ])
  const file = join(makeDirectory(), 'file')
  writeFileSync(file, '')
  const unusable = await run('serve', '--port', '0', '--data', join(file, 'data'), '--local-slots', '0')
  expect([unusable.code, unusable.stdout]).toEqual([1, ''])
  expect(unusable.stderr).toMatch(/^scrapdeck: .*\n$/)
})

it('a password without a user name is refused, and no credentials are created for an empty directory', async () => {
  const directory = makeDirectory()
  mkdirSync(join(directory, 'data'))
  expect(await run('serve', '--password', 'x', '--data', join(directory, 'data'))).toMatchObject({
    code: 2,
    stdout: ''
  })
  const none = await run('credentials', '--data', join(directory, 'data'))
  expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('npm run serve -- --data')])
})

it('binding beyond this machine without TLS needs consent, and then logs a warning', async () => {
  const directory = makeDirectory()
  const refused = await run('serve', '--bind', '0.0.0.0', '--port', '0', '--data', join(directory, 'data'))
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--allow-plain-http')])
  const { printed } = await startServe(makeDirectory(), '--bind', '0.0.0.0', '--allow-plain-http')
  await until(
    'the warning',
    async () => printed.stderr,
    (text) => text.includes('over plain HTTP')
  )
})

it('npm run scrapdeck uses the directory in which npm was called', async () => {
  const directory = makeDirectory()
  writeFileSync(join(directory, 'scrapyd.conf'), '[scrapyd]\nnode_name = here\n')
  const { stdout } = await new Promise<{ stdout: string }>((resolveRun, reject) => {
    const env = { ...process.env, npm_lifecycle_event: 'scrapdeck', INIT_CWD: directory }
    execFile(process.execPath, [SERVICE_ENTRY, 'config'], { cwd: root, env, timeout: 30_000 }, (error, stdout) =>
      error === null ? resolveRun({ stdout }) : reject(error)
    )
  })
  expect(stdout).toMatch(new RegExp(`^node_name = here +# ${join(directory, 'scrapyd.conf')}, line 2$`, 'm'))
})

it('serve --json reports readiness as JSON and logs JSON lines', async () => {
  const { child, printed } = await startServe(makeDirectory(), '--json')
  const [line = '', ...rest] = printed.stdout.split('\n')
  expect(rest).toEqual([''])
  const { ready, address, link } = JSON.parse(line) as { ready: boolean; address: string; link: string }
  expect([ready, link.startsWith(`${address}/ui/login?token=`)]).toEqual([true, true])
  expect(await (await fetch(`${address}/health`)).json()).toMatchObject({ status: 'ok' })
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  const logged = printed.stderr.trim().split('\n')
  expect(logged.map((one) => typeof (JSON.parse(one) as { msg: unknown }).msg)).toEqual(logged.map(() => 'string'))
})

it('the built command line loads only what a command needs: no schemas, no fetch, no other command', async () => {
  await ensureServiceBuilt()
  const hook = join(makeDirectory(), 'hook.cjs')
  writeFileSync(
    hook,
    "process.on('exit', () => console.log(JSON.stringify([...Object.keys(require.cache), ...process.moduleLoadList])))"
  )
  const loadedBy = (...words: string[]) =>
    new Promise<string[]>((done) => {
      const args = ['--require', hook, join(root, 'out/service/scrapdeck.js'), ...words]
      const env = { ...process.env, SCRAPDECK_URL: 'http://127.0.0.1:2', SCRAPDECK_PASSWORD: 'x' }
      execFile(process.execPath, args, { env }, (_error, stdout) => done(JSON.parse(stdout) as string[]))
    })
  for (const words of [['jobs'], ['logs', '019b0000000000000000000000000001'], ['nodes', 'list']]) {
    const loaded = await loadedBy(...words)
    const files = loaded.filter((name) => name.startsWith(join(root, 'out')))
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    // Without the schemas (300 KB), the modules have about 405 KB.
    expect([words, bytes < 450_000, bytes > 100_000], files.join(' ')).toEqual([words, true, true])
    expect(loaded.filter((name) => name.includes('undici'))).toEqual([])
    expect(files.filter((file) => /deploy|fleet-file|schedules/.test(file))).toEqual([])
  }
})

// Importing even one value from a module that loads the schemas made each start 10 % slower.
it('the thread of the store loads no schemas', async () => {
  await ensureServiceBuilt()
  const directory = makeDirectory()
  const [hook, list] = [join(directory, 'hook.cjs'), join(directory, 'loaded.json')]
  const write = `require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache)))`
  const isStore = "Object.keys(require.cache).some((file) => file.endsWith('store-worker.js'))"
  writeFileSync(hook, `process.on('exit', () => { if (${isStore}) ${write} })`)
  const flags = ['serve', '--port', '0', '--data', join(directory, 'data'), '--local-slots', '0']
  const args = ['--require', hook, join(root, 'out/service/scrapdeck.js'), ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  await once(child, 'close')
  const loaded = JSON.parse(readFileSync(list, 'utf8')) as string[]
  expect(loaded.filter((file) => /[/\\]schemas[.-]/.test(file))).toEqual([])
})

it.skipIf(process.platform === 'win32')('bin/scrapdeck runs the build, or the sources if one is newer', () => {
  const home = makeDirectory()
  for (const [file, text] of [
    ['bin/scrapdeck', readFileSync(join(root, 'bin/scrapdeck'), 'utf8')],
    ['src/cli/bin.ts', "console.log('sources', process.argv[2])"],
    ['src/cli/some.test.ts', ''],
    ['package.json', '{ "type": "module" }']
  ] as const) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), text, { mode: 0o755 })
  }
  symlinkSync(join(home, 'bin/scrapdeck'), join(home, 'linked'))
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  const printed = () => execFileSync(join(home, 'linked'), ['jobs'], { env, encoding: 'utf8' }).trim()
  expect(printed()).toBe('sources jobs')
  mkdirSync(join(home, 'out/service'), { recursive: true })
  writeFileSync(join(home, 'out/service/scrapdeck.js'), "console.log('built', process.argv[2])")
  const later = new Date(Date.now() + 10_000)
  utimesSync(join(home, 'src/cli/some.test.ts'), later, later)
  expect(printed()).toBe('built jobs')
  utimesSync(join(home, 'src/cli/bin.ts'), later, later)
  expect(printed()).toBe('sources jobs')
})

it('without a command it shows the help; a misspelt one gets a suggestion; a closed pipe is not an error', async () => {
  const shell = (line: string) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      execFile('bash', ['-o', 'pipefail', '-c', line], { cwd: root, timeout: 30_000 }, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
      )
    })
  const [bare, misspelt, closed, failed] = await Promise.all([
    run(),
    run('schedule', 'list'),
    shell('bin/scrapdeck completion fish | head -c 1 > /dev/null; bin/scrapdeck completion zsh >&-; echo ended'),
    run('jobs', '--url', 'http://127.0.0.1:2', '--username', 'a', '--password-file', '/dev/null', '--json')
  ])
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining('Usage: scrapdeck [options] [command]')])
  expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringContaining('Did you mean schedules?')])
  expect(closed).toEqual({ code: 0, stdout: 'ended\n', stderr: '' })
  expect([failed.code, JSON.parse(failed.stderr)]).toEqual([
    4,
    { error: { message: expect.stringContaining('No password for http://127.0.0.1:2') } }
  ])
})
