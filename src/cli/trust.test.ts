import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFakeEngine } from '../server/testing/fake-engine.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { call, makeDirectory, openServer, startEngine, startServer } from './testing/call.ts'

const PASSWORD = 'correct horse: battery'
const CREDENTIALS = JSON.stringify({ username: 'scrapdeck', password: PASSWORD })

/** Starts a server that records the passwords it receives, like a program of another user. */
async function startThief() {
  const stolen: unknown[] = []
  const url = await startServer((request, response) => {
    stolen.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"rows":[]}')
  })
  return { url, port: Number(new URL(url).port), stolen }
}

async function aRunningService(socket?: string) {
  const dataDirectory = makeDirectory({ 'credentials.json': CREDENTIALS })
  const address = await openServer(createFakeEngine(), { dataDirectory, ...(socket === undefined ? {} : { socket }) })
  return { dataDirectory, address }
}

const withoutVariables = { password: '', environment: { SCRAPDECK_USERNAME: '' } }

describe('the password of the service on this machine', () => {
  it('is sent to the address that the service wrote into its data directory, whatever port is configured', async () => {
    const { dataDirectory, address } = await aRunningService()
    const thief = await startThief()
    const service = { dataDirectory, port: thief.port }
    expect(await call(['nodes', 'list'], { ...withoutVariables, service })).toMatchObject({ code: 0 })
    expect(await call(['nodes', 'list', '--url', address], { ...withoutVariables, service })).toMatchObject({ code: 0 })
    const elsewhere = await call(['nodes', 'list', '--url', thief.url], { ...withoutVariables, service })
    expect([elsewhere.code, elsewhere.error]).toEqual([
      EXIT_CODES.unauthorized,
      expect.stringContaining(`No password for ${thief.url}`)
    ])
    const port = await call(['nodes', 'list', '--port', String(thief.port)], { ...withoutVariables, service })
    expect([port.code, port.error]).toEqual([
      EXIT_CODES.usage,
      expect.stringContaining(`is at ${address}, so its password is not sent to port ${thief.port}`)
    ])
    expect(thief.stolen).toEqual([])
  })

  it('is not sent to another process at the address of a killed service', async () => {
    const thief = await startThief()
    const record = JSON.stringify({ address: thief.url, pid: process.pid, startTime: 'of a process that ended' })
    const dataDirectory = makeDirectory({ 'credentials.json': CREDENTIALS, 'service.json': record })
    const service = { dataDirectory, port: thief.port }
    const ended = await call(['nodes', 'list'], { ...withoutVariables, service })
    expect([ended.code, ended.error]).toEqual([
      EXIT_CODES.unreachable,
      `No Scrapdeck runs with the data in ${dataDirectory}. Start it, or name another with --data, --url or SCRAPDECK_URL.`
    ])
    expect(await call(['link'], { ...withoutVariables, service })).toMatchObject({ code: EXIT_CODES.unreachable })
    expect(thief.stolen).toEqual([])
  })

  it.skipIf(process.platform === 'win32')('is not read from files of another user', async () => {
    const { dataDirectory } = await aRunningService()
    const service = { dataDirectory, port: null }
    const file = join(dataDirectory, 'credentials.json')
    expect(await call(['nodes', 'list'], { ...withoutVariables, service })).toMatchObject({ code: 0 })
    const isRoot = process.geteuid!() === 0
    if (isRoot) for (const name of ['credentials.json', 'service.json']) chownSync(join(dataDirectory, name), 54_321, 1)
    // Root can use the services of all users.
    if (isRoot) expect(await call(['nodes', 'list'], { ...withoutVariables, service })).toMatchObject({ code: 0 })
    const user = vi.spyOn(process, 'geteuid').mockReturnValue(54_322)
    onTestFinished(() => user.mockRestore())
    const refused = await call(['nodes', 'list'], { ...withoutVariables, service })
    expect([refused.code, refused.error]).toEqual([
      EXIT_CODES.unauthorized,
      expect.stringContaining(`${file} belongs to another user`)
    ])
    const withPassword = await call(['nodes', 'list'], { service })
    expect([withPassword.code, withPassword.error]).toEqual([EXIT_CODES.usage, expect.stringContaining('has no port')])
  })

  it.skipIf(process.platform === 'win32')('is sent through the Unix socket of a service without TCP', async () => {
    const { dataDirectory, address } = await aRunningService(join(makeDirectory(), 'deck.sock'))
    expect(address).toMatch(/^unix:/)
    const service = { dataDirectory, port: null }
    const created = await call(['nodes', 'cordon', 'x'], { ...withoutVariables, service })
    expect([created.code, created.error]).toEqual([EXIT_CODES.notFound, expect.stringContaining('There is no node x')])
    expect(await call(['run', 'shop', 'prices'], { ...withoutVariables, service })).toMatchObject({ code: 0 })
  })
})

describe('the error for a missing or wrong password', () => {
  it('names the address, the user, the variable or file, and where to find the right password', async () => {
    const { dataDirectory, address } = await aRunningService()
    const errorOf = async (options: Parameters<typeof call>[1], ...more: string[]) =>
      (await call(['jobs', ...more], options)).error
    const user = { password: '', environment: { SCRAPDECK_USERNAME: 'eve' } }
    expect(await errorOf({ ...user, url: 'http://10.1.2.3' })).toMatch(
      /^No password for http:\/\/10\.1\.2\.3 \(SCRAPDECK_PASSWORD is not set; user name "eve"\)\. Set .+ "scrapdeck credentials" on/
    )
    const service = { dataDirectory, port: null }
    expect(await errorOf({ ...withoutVariables, service, url: 'http://127.0.0.1:2' })).toContain(
      `(SCRAPDECK_PASSWORD is not set; the service with the data in ${dataDirectory} is at ${address})`
    )
    expect(await errorOf({ password: 'wrong', url: address })).toMatch(
      /refused the user name "scrapdeck" or its password \(from SCRAPDECK_PASSWORD\)\. Set .+ "scrapdeck credentials" on/
    )
    const own = makeDirectory({ 'credentials.json': 'wrong\n' })
    expect(await errorOf({ url: address, directory: own }, '--password-file', 'credentials.json')).toMatch(
      /\(from credentials\.json\)\. Set SCRAPDECK_USERNAME/
    )
    writeFileSync(join(dataDirectory, 'credentials.json'), CREDENTIALS.replace('battery', 'other'))
    expect(await errorOf({ ...withoutVariables, service })).toContain(
      `(from ${join(dataDirectory, 'credentials.json')}). That file was changed after the service started: restart`
    )
  })
})

describe('the password in SCRAPDECK_PASSWORD', () => {
  it('is not sent to another --url than SCRAPDECK_URL', async () => {
    const { url } = await startEngine()
    const thief = await startThief()
    const ended = await call(['nodes', 'list', '--url', thief.url], { url })
    expect([ended.code, ended.error]).toEqual([
      EXIT_CODES.unauthorized,
      expect.stringContaining(`(SCRAPDECK_PASSWORD belongs to SCRAPDECK_URL, ${url};`)
    ])
    const withPassword = await call(['jobs', '--url', thief.url], { url: 'http://me:geheim@127.0.0.1:1' })
    expect(withPassword.error).toContain('belongs to SCRAPDECK_URL, http://***@127.0.0.1:1;')
    expect((await call(['jobs'], { url: 'ftp://me:gehe/im@host' })).error).toContain('ftp://***@host is not an address')
    expect(thief.stolen).toEqual([])
  })

  it('is not sent to an address that a scrapy.cfg names', async () => {
    const thief = await startThief()
    const directory = makeDirectory({
      'scrapy.cfg': `[settings]\ndefault = shop.settings\n[deploy]\nurl = ${thief.url}/\n`,
      'shop/settings.py': ''
    })
    expect(await call(['deploy'], { directory })).toMatchObject({ code: EXIT_CODES.unauthorized })
    expect(thief.stolen).toEqual([])
  })
})

describe('scrapy.cfg', () => {
  it('in a parent directory is refused if another user can change it, with its name and what to do', async () => {
    const thief = await startThief()
    const directory = makeDirectory({ 'scrapy.cfg': `[deploy]\nurl = ${thief.url}/\n`, 'a/b/notes.txt': '' })
    chmodSync(join(directory, 'scrapy.cfg'), 0o666)
    const ended = await call(['deploy'], { directory: join(directory, 'a/b') })
    expect([ended.code, ended.error]).toEqual([
      EXIT_CODES.usage,
      `${join(directory, 'scrapy.cfg')} is not trusted: it can be written by every user. If it is yours: chmod go-w ${join(directory, 'scrapy.cfg')}. Otherwise use --url and name the folder of your own project.`
    ])
    expect(thief.stolen).toEqual([])
  })

  it("of a project does not redirect a password from the user's own scrapy.cfg", async () => {
    const { url } = await startEngine()
    const thief = await startThief()
    const directory = makeDirectory({
      'scrapy.cfg': `[settings]\ndefault = shop.settings\n[deploy:prod]\nurl = ${thief.url}/\nproject = shop\n`,
      'shop/settings.py': ''
    })
    const own = (line: string) =>
      makeDirectory({ '.scrapy.cfg': `[deploy:prod]\n${line}username = scrapdeck\npassword = ${PASSWORD}\n` })
    const deploy = (home: string) => call(['deploy', '-t', 'prod'], { directory, home, password: '' })
    const ended = await deploy(own(''))
    expect([ended.code, ended.error]).toEqual([
      EXIT_CODES.unauthorized,
      expect.stringContaining(`is not sent to ${thief.url}/, which the project's scrapy.cfg names`)
    ])
    expect(thief.stolen).toEqual([])
    const file = join(directory, 'scrapy.cfg')
    writeFileSync(file, readFileSync(file, 'utf8').replace(thief.url, url.replace('://', '://me:geheim@')))
    const advice = `If that is right, write url = ${url} beside the password.`
    expect((await deploy(own(''))).error).toContain(advice)
    expect(await deploy(own(`url = ${url}\n`))).toMatchObject({ code: 0 })
  })
})

describe("a variable that a project's scrapy.cfg names", () => {
  const SECRETS = { SCRAPYD_USERNAME: 'scrapdeck', SCRAPYD_PASSWORD: PASSWORD, AWS_SECRET_ACCESS_KEY: 'aws123' }
  const aProject = (target: string) =>
    makeDirectory({
      'scrapy.cfg': `[settings]\ndefault = shop.settings\n[deploy]\n${target}\n`,
      'shop/settings.py': ''
    })
  const deploy = (target: string, environment: Record<string, string>, ...words: string[]) =>
    call(['deploy', '-t', 'default', ...words], {
      directory: aProject(target),
      environment: { ...SECRETS, ...environment }
    })

  it('is sent to the address in the variable with the same prefix, as scrapyd-client documents it', async () => {
    const { url } = await startEngine()
    const documented = 'url = $SCRAPYD_URL\nusername = $SCRAPYD_USERNAME\npassword = ${SCRAPYD_PASSWORD}'
    for (const target of [
      documented,
      documented.replace('$SCRAPYD_URL', '${SCRAPYD_URL}/'),
      documented.replace('$SCRAPYD_URL', url)
    ]) {
      expect(await deploy(target, { SCRAPYD_URL: url })).toMatchObject({
        code: 0,
        error: `Variables for ${url} (scrapy.cfg): SCRAPYD_USERNAME, SCRAPYD_PASSWORD\n`
      })
    }
  })

  it('is not sent to an address in that file, unless the user says so', async () => {
    const thief = await startThief()
    const steal = (value: string, environment = {}, ...words: string[]) =>
      deploy(`url = ${thief.url}/\nusername = x\npassword = ${value}`, environment, ...words)
    const ended = await steal('${AWS_SECRET_ACCESS_KEY}')
    expect([ended.code, ended.error]).toEqual([
      EXIT_CODES.unauthorized,
      `AWS_SECRET_ACCESS_KEY is not sent to ${thief.url} (password in scrapy.cfg): that address is from the project's file. If that address is right, set AWS_SECRET_ACCESS_URL to it, or use --expand-variables.`
    ])
    expect(
      (await steal('$SCRAPYD_PASSWORD', { SCRAPYD_URL: 'https://deck.example.org' }, '--expand-variables')).error
    ).toBe(
      `SCRAPYD_PASSWORD is not sent to ${thief.url} (password in scrapy.cfg): it belongs to SCRAPYD_URL, https://deck.example.org.`
    )
    const withPassword = { SCRAPYD_URL: 'https://me:gehe/im@deck.example.org' }
    expect((await steal('$SCRAPYD_PASSWORD', withPassword)).error).toContain(
      'SCRAPYD_URL, https://***@deck.example.org.'
    )
    for (const name of ['project', 'version', 'username'])
      expect((await deploy(`url = ${thief.url}/\nusername = x\n${name} = $AWS_SECRET_ACCESS_KEY`, {})).code).toBe(4)
    expect(thief.stolen).toEqual([])
    const told = await steal('$AWS_SECRET_ACCESS_KEY', {}, '--expand-variables')
    expect(told.error).toContain(`Variables for ${thief.url} (scrapy.cfg): AWS_SECRET_ACCESS_KEY\n`)
    expect(thief.stolen).toEqual([`Basic ${btoa('x:aws123')}`])
  })

  it('is sent only to SCRAPDECK_URL if it belongs to Scrapdeck, even if the user consents or owns the file', async () => {
    const thief = await startThief()
    const section = `[deploy]\nurl = ${thief.url}/\nusername = x\npassword = \${SCRAPDECK_PASSWORD}\n`
    for (const url of [undefined, 'http://127.0.0.1:1']) {
      const directory = aProject(section.replace('[deploy]\n', ''))
      const options = { directory, ...(url !== undefined && { url }) }
      const ended = await call(['deploy', '-t', 'default', '--expand-variables'], options)
      expect([ended.code, ended.error]).toEqual([
        4,
        expect.stringContaining(`SCRAPDECK_PASSWORD is not sent to ${thief.url}`)
      ])
    }
    const own = { directory: aProject('project = shop'), home: makeDirectory({ '.scrapy.cfg': section }) }
    expect((await call(['deploy'], own)).code).toBe(4)
    expect(thief.stolen).toEqual([])
  })

  it('never becomes part of an address, and its value is not printed', async () => {
    const thief = await startThief()
    for (const url of [
      `${thief.url}/$AWS_SECRET_ACCESS_KEY/`,
      'http://$AWS_SECRET_ACCESS_KEY.example.org/',
      '$AWS_SECRET_ACCESS_KEY'
    ]) {
      const { code, error } = await deploy(`url = ${url}\nusername = x`, {}, '--expand-variables')
      expect([code, error]).toEqual([EXIT_CODES.usage, expect.not.stringContaining('aws123')])
    }
    expect(thief.stolen).toEqual([])
  })

  it('is sent to the address beside it if the user owns the scrapy.cfg', async () => {
    const { url } = await startEngine()
    const home = makeDirectory({
      '.scrapy.cfg': `[deploy]\nurl = ${url}/\nusername = $DECK_USER\npassword = $DECK_SECRET\n`
    })
    const environment = { DECK_USER: 'scrapdeck', DECK_SECRET: PASSWORD }
    expect(await call(['deploy'], { home, environment, directory: aProject('project = shop') })).toMatchObject({
      code: 0
    })
  })
})
