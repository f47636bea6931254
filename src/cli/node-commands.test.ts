import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EXIT_CODES } from './client/exit-codes.ts'
import { EXAMPLES } from '../shared/examples/operations.ts'
import { call, makeDirectory, openEngine, startServer } from './testing/call.ts'

/** Responds to daemonstatus.json and to the list endpoints like an idle Scrapyd 1.6. */
async function startScrapyd(): Promise<string> {
  return startServer((request, response) => {
    const lists = { jobs: [], pending: [], running: [], finished: [], projects: ['shop'] }
    const isStatus = request.url?.includes('daemonstatus') === true
    const counts = isStatus ? { pending: 0, running: 0, finished: 0 } : lists
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ status: 'ok', node_name: 'vm', ...counts }))
  })
}

it('nodes add tries the node, shows the result, and refuses an unusable one unless --force is given', async () => {
  const { run } = await openEngine()
  const url = await startScrapyd()
  const added = await run('nodes', 'add', url, '--name', 'eu-1', '--tag', 'eu')
  expect([added.code, added.out]).toEqual([
    0,
    expect.stringMatching(
      /^Added eu-1 \(\S+\): up\. Scrapyd .+, hostname vm, 0 running, 0 pending, 1 project, latency \d+ ms.*\.\n$/
    )
  ])
  expect((await run('nodes', 'add', url)).code).toBe(EXIT_CODES.refused)
  const down = await run('nodes', 'add', 'http://127.0.0.1:2')
  expect([down.code, down.error]).toEqual([
    EXIT_CODES.failed,
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:2\/ was not added: [^.]+\.[^]+[^.]\. To use it anyway: --force\.$/)
  ])
  expect((await run('nodes', 'list')).out).not.toContain('127.0.0.1:2')
  const forced = await run('nodes', 'add', 'http://127.0.0.1:2', '--name', 'later', '--force')
  expect([forced.code, forced.out]).toEqual([0, expect.stringMatching(/^Added later \(\S+\): down: /)])
})

it('nodes probe tries an address without adding it, and shows the known facts of a node', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const url = await startScrapyd()
  expect(await run('nodes', 'probe', url)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^http:\S+: up\. Scrapyd .+ 1 project/)
  })
  expect(await run('nodes', 'probe', 'http://127.0.0.1:2')).toMatchObject({
    code: EXIT_CODES.failed,
    out: expect.stringMatching(/^http:\/\/127\.0\.0\.1:2\/: down: /)
  })
  expect(await run('nodes', 'probe', 'berlin')).toMatchObject({ code: 0, out: expect.stringContaining('Health: up.') })
  expect((await run('nodes', 'list')).out).not.toContain(url)
})

it('nodes edit changes only what is given', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const words = ['--name', 'paris', '--slots', '7', '--tag', 'eu', '--give-up-after', '15m', '--group', 'west']
  const edited = await run('nodes', 'edit', 'berlin', ...words)
  expect([edited.code, edited.out]).toEqual([
    0,
    expect.stringMatching(/^paris \(.+7 slots \(set by you\), tags eu, group west, given up after 15 min\.\n$/)
  ])
  const back = await run('nodes', 'edit', 'paris', '--slots', 'auto', '--no-tags', '--give-up-after', 'never')
  expect(back.error).toBe('')
  expect(back.out).toMatch(/, no tags, group west\.\n$/)
  expect(back.out).not.toContain('set by you')
  expect((await run('nodes', 'edit', 'paris')).code).toBe(EXIT_CODES.usage)
  expect((await run('nodes', 'edit', 'rome', '--slots', '2')).code).toBe(EXIT_CODES.notFound)
})

it('nodes remove says what is lost and asks; without a terminal it needs --yes', async () => {
  const { engine, url, run } = await openEngine()
  await engine.prepare('berlin')
  await run('run', 'shop', 'prices')
  await engine.until(async () => engine.node.running.length === 1)
  const silent = await run('nodes', 'remove', 'berlin', '--force')
  expect([silent.code, silent.error]).toEqual([
    EXIT_CODES.usage,
    expect.stringMatching(/1 job of Scrapdeck is live on berlin and will be marked lost[^]+No changes made\. Add --yes/)
  ])
  const { username, password } = engine.engine.credentials
  const answer = (typed: string) =>
    call(['nodes', 'remove', 'berlin', '--force'], {
      url,
      password,
      typed,
      environment: { SCRAPDECK_USERNAME: username }
    })
  expect(await answer('')).toMatchObject({
    code: EXIT_CODES.failed,
    error: expect.stringMatching(/No changes made\.$/)
  })
  expect(await answer('y')).toMatchObject({ code: 0, out: 'berlin is no longer a node.\n' })
})

it('projects, versions and deploy --list show what is deployed where', async () => {
  const { engine, run } = await openEngine()
  expect((await run('projects')).out).toBe('No projects. Upload one: scrapdeck deploy\n')
  expect((await run('deploy', '--list')).out).toBe('Nothing is deployed.\n')
  await engine.prepare('berlin')
  await run('run', 'shop', 'prices')
  await engine.until(async () => engine.node.running.length === 1)
  expect((await run('projects')).out).toMatch(
    /^PROJECT +VERSION +LATEST +VERSIONS +STATE +SPIDERS\nshop +\S+ +\S+ +1 +active +prices\n$/
  )
  expect((await run('versions', 'shop')).out).toMatch(/\n\S+ +\S+ \S+ +\d+ KB +1 spider +berlin +latest\n$/)
  const { activeVersion } = (await engine.client.projects.list()).projects[0]!
  await engine.client.projects.pinVersion({ project: 'shop', version: activeVersion as string })
  expect((await run('projects')).out).toMatch(/\nshop +\S+ \(pinned\) +\S+ +1 +active +prices\n$/)
  expect((await run('versions', 'shop')).out).toMatch(/ pinned; latest\n$/)
  expect((await run('deploy', '--list')).out).toMatch(/^PROJECT +VERSION +NODES\nshop +\S+ +berlin\n$/)
  expect((await run('deploy', '--list', '-p', 'elsewhere')).code).toBe(EXIT_CODES.notFound)
  expect((await run('versions', 'elsewhere')).code).toBe(EXIT_CODES.notFound)
})

async function startLockedScrapyd(): Promise<string> {
  return startServer((_request, response) => response.writeHead(401).end())
}

it('a node that requires a password says which flags set one, and does not warn that anyone can run code there', async () => {
  const { run, url, engine } = await openEngine()
  const locked = await startLockedScrapyd()
  const refused = await run('nodes', 'add', locked)
  expect([refused.code, refused.error]).toEqual([
    EXIT_CODES.failed,
    `${locked}/ was not added: it requires a user name and password. Give --node-username NAME, and its password in SCRAPDECK_NODE_PASSWORD. To use it anyway: --force.`
  ])
  const asksFor = 'unauthorized: it requires a user name and password. Give --node-username NAME'
  const probed = await run('nodes', 'probe', locked)
  expect(probed.out).toContain(asksFor)
  expect(probed.out).not.toContain('anyone who can reach it')
  const unset = await run('nodes', 'add', locked, '--node-username', 'ann')
  expect([unset.code, unset.error]).toEqual([
    EXIT_CODES.usage,
    expect.stringContaining('The password of ann is not set.')
  ])
  const { username, password } = engine.engine.credentials
  const environment = { SCRAPDECK_USERNAME: username, SCRAPDECK_NODE_PASSWORD: 'x' }
  const wrong = await call(['nodes', 'add', locked, '--node-username', 'ann'], { url, password, environment })
  expect(wrong.error).toContain('it rejected the user name or the password from SCRAPDECK_NODE_PASSWORD.')
  expect((await run('nodes', 'add', locked, '--force')).out).toContain(asksFor)
})

it('nodes edit needs consent for an address that drops the password or is unusable', async () => {
  const { run, url, engine } = await openEngine()
  const { username, password } = engine.engine.credentials
  const environment = { SCRAPDECK_USERNAME: username, SCRAPDECK_NODE_PASSWORD: 'x' }
  const [first, second] = [await startScrapyd(), await startScrapyd()]
  const added = ['nodes', 'add', first, '--name', 'eu', '--node-username', 'ann']
  expect(await call(added, { url, password, environment })).toMatchObject({ code: 0 })
  const dropped = await run('nodes', 'edit', 'eu', '--address', second)
  expect([dropped.code, dropped.error]).toEqual([
    EXIT_CODES.usage,
    expect.stringContaining('The password of eu is not sent to a new address')
  ])
  const down = await run('nodes', 'edit', 'eu', '--address', 'http://127.0.0.1:2', '--node-username', '')
  expect([down.code, down.error]).toEqual([EXIT_CODES.failed, expect.stringContaining('127.0.0.1:2/ was not taken:')])
  expect((await run('nodes', 'list')).out).toContain(first)
  expect(await run('nodes', 'edit', 'eu', '--address', second, '--node-username', '')).toMatchObject({ code: 0 })
  const forced = await run('nodes', 'edit', 'eu', '--address', 'http://127.0.0.1:2', '--force')
  expect([forced.code, forced.out]).toEqual([0, expect.stringContaining('127.0.0.1:2')])
})

it('nodes edit tries an address the way the node is reached, but sends the password only to the same origin', async () => {
  const { run, url, engine } = await openEngine()
  const { username, password } = engine.engine.credentials
  const options = { url, password, environment: { SCRAPDECK_USERNAME: username, SCRAPDECK_NODE_PASSWORD: 'geheim' } }
  const asked: [path: string, authorization: string | undefined][] = []
  const proxy = await startServer((request, response) => {
    asked.push([request.url ?? '', request.headers.authorization])
    response.writeHead(401).end()
  })
  const flags = ['--node-username', 'ann', '--proxy', proxy, '--force', '--name', 'eu']
  await call(['nodes', 'add', 'http://node.invalid:6800/', ...flags], options)
  asked.length = 0
  const moved = await run('nodes', 'edit', 'eu', '--address', 'http://node.invalid:6800/base')
  expect([moved.code, moved.out]).toEqual([0, expect.stringContaining('http://node.invalid:6800/base/, ')])
  expect(asked[0]).toEqual(['http://node.invalid:6800/base/daemonstatus.json', undefined])
  const { nodes } = await engine.client.nodes.list()
  expect(nodes.find(({ name }) => name === 'eu')!.username).toBe('ann')
  const away = await run('nodes', 'edit', 'eu', '--address', 'http://elsewhere.invalid:6800', '--force')
  expect(away.error).toContain('The password of eu is not sent to a new address')
  expect(asked.filter(([path, sent]) => path.includes('elsewhere') && sent !== undefined)).toEqual([])
})

it('nodes edit needs consent for a proxy that drops the password or is unusable', async () => {
  const { url, engine } = await openEngine()
  const { username, password } = engine.engine.credentials
  const options = { url, password, environment: { SCRAPDECK_USERNAME: username, SCRAPDECK_NODE_PASSWORD: 'geheim' } }
  const run = (...words: string[]) => call(words, options)
  const [before, after] = [await startScrapyd(), await startScrapyd()]
  const flags = ['--node-username', 'ann', '--proxy', before, '--name', 'eu']
  expect(await run('nodes', 'add', 'http://node.invalid:6800/', ...flags)).toMatchObject({ code: 0 })
  const edit = (...words: string[]) => run('nodes', 'edit', 'eu', ...words)
  const eu = async () => (await engine.client.nodes.list()).nodes.find(({ name }) => name === 'eu')!
  for (const address of [[], ['--address', 'http://node.invalid:6800/base']]) {
    expect(await edit(...address, '--proxy', after, '--force')).toMatchObject({
      code: EXIT_CODES.usage,
      error: expect.stringContaining(
        'The password of eu is not sent to a new address or through a new proxy. Give --node-username'
      )
    })
  }
  expect(await eu()).toMatchObject({ hasPassword: true, proxyUrl: `${before}/` })
  const down = await edit('--proxy', 'http://127.0.0.1:2', '--node-username', 'ann')
  expect([down.code, down.error]).toEqual([
    EXIT_CODES.failed,
    expect.stringContaining('http://node.invalid:6800/ cannot be used through that proxy: ')
  ])
  expect(await edit('--proxy', after, '--node-username', 'ann')).toMatchObject({ code: 0 })
  expect(await edit('--proxy', after, '--slots', '3')).toMatchObject({ code: 0 })
  expect(await eu()).toMatchObject({ hasPassword: true, proxyUrl: `${after}/`, slots: 3 })
})

it('nodes edit refuses an address or proxy that drops the client key, unless a new key or none is given', async () => {
  const { engine, url } = await openEngine()
  const { username, password } = engine.engine.credentials
  const directory = makeDirectory(makePapers())
  const environment = { SCRAPDECK_USERNAME: username, SCRAPDECK_NODE_PASSWORD: 'geheim' }
  const run = (...words: string[]) => call(['nodes', ...words], { url, password, directory, environment })
  const papers = ['--client-certificate', 'client.crt', '--client-key', 'client.key']
  await run('add', 'https://node.invalid:6800/', '--name', 'eu', ...papers, '--force')
  const hasKey = async () =>
    (await engine.client.nodes.list()).nodes.find(({ name }) => name === 'eu')!.hasClientCertificate
  expect(await hasKey()).toBe(true)
  const moved = ['edit', 'eu', '--address', 'https://elsewhere.invalid:6800', '--force']
  for (const words of [moved, ['edit', 'eu', '--proxy', 'http://proxy.invalid:3128', '--force']]) {
    expect(await run(...words)).toMatchObject({
      code: EXIT_CODES.usage,
      error:
        'The client key of eu is not sent to a new address or through a new proxy. Give --client-certificate FILE and' +
        " --client-key FILE. If the node needs no client certificate: --client-certificate ''."
    })
  }
  expect(await hasKey()).toBe(true)
  expect(await run(...moved, ...papers)).toMatchObject({ code: 0 })
  expect(await hasKey()).toBe(true)
  await run('edit', 'eu', '--node-username', 'ann')
  const back = ['edit', 'eu', '--address', 'https://node.invalid:6800', '--force']
  expect((await run(...back)).error).toMatch(/^The password and client key of eu are not sent to a new address/)
  expect((await run(...back, '--node-username', 'ann')).error).toMatch(/^The client key of eu is not sent/)
  expect(await run(...back, '--node-username', 'ann', '--client-certificate', '')).toMatchObject({ code: 0 })
  expect(await hasKey()).toBe(false)
})

function makePapers(): Record<string, string> {
  const directory = makeDirectory()
  const [key, cert] = [join(directory, 'client.key'), join(directory, 'client.crt')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const request = ['req', '-x509', ...curve, '-subj', '/CN=client', '-keyout', key, '-out', cert]
  execFileSync('openssl', request, { stdio: 'ignore' })
  return { 'client.key': readFileSync(key, 'utf8'), 'client.crt': readFileSync(cert, 'utf8') }
}

it('nodes add says that its name is taken and which one it gets instead', async () => {
  const { run } = await openEngine()
  await run('nodes', 'add', await startScrapyd(), '--name', 'eu')
  const { out, error } = await run('nodes', 'add', await startScrapyd(), '--name', 'eu')
  expect(out).toContain('Added eu-2 ')
  expect(error).toContain('There is a node eu already: this one is eu-2.\n')
})

it.each([
  [['nodes', 'edit', 'berlin', '--give-up-after', '5s'], /^--give-up-after \(in seconds\): must be at least 10/],
  [['nodes', 'edit', 'berlin', '--tag', ''], /^--tag: /],
  [['schedules', 'preview', '--every', '0'], /^--every \(in seconds\): must be at least 1$/],
  [['run', 'shop', 'prices', '--secret', 'token'], /--secret/]
])('%j is refused with a message in the terms of the command line', async (words, said) => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  const { code, error } = await run(...words)
  expect([code, error]).toEqual([EXIT_CODES.usage, expect.stringMatching(said)])
})

it('nodes remove names the queued jobs that may run nowhere else', async () => {
  const { engine, run } = await openEngine()
  await engine.prepare('berlin')
  await run('nodes', 'add', 'http://127.0.0.1:2', '--name', 'gone', '--force')
  await run('nodes', 'cordon', 'gone')
  const id = (await run('run', 'shop', 'prices', '--node', 'gone')).out.slice(0, 32)
  const words = `1 queued job may run only on gone and will wait until placed elsewhere: ${id}.\n`
  expect((await run('nodes', 'remove', 'gone')).error).toContain(words)
  expect(await run('nodes', 'remove', 'gone', '--yes')).toMatchObject({ code: 0, error: words })
})

it('projects says why a version has no list of spiders if a node could not import it', async () => {
  const [project] = EXAMPLES.projects.list.output.projects
  const [version] = project!.versions
  const error = 'Traceback:\n  File "a.py"\nModuleNotFoundError: No module named \'lxml\'\n'
  const deployments = [{ nodeId: 'n1', state: 'failed', sha256: null, error, changedAtMs: 0 }]
  const versions = [{ ...version!, spiders: null, deployments }]
  const active = { activeVersion: version!.version, latestVersion: version!.version }
  const url = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ projects: [{ ...project!, ...active, versions }] }))
  })
  expect((await call(['projects'], { url })).out).toContain("not listed: ModuleNotFoundError: No module named 'lxml'")
})
