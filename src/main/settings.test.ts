import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { readDesktopSettings } from './settings.ts'

const PLUGIN = 'export default () => ({})\n'

test('without a file the defaults apply: its own data, only this machine, any free port', async () => {
  await using userData = await makeTemporaryDirectory()
  const { options, warnings } = readDesktopSettings(userData.path, {}, userData.path)
  expect(options).toMatchObject({
    dataDirectory: join(userData.path, 'data'),
    bindAddress: '127.0.0.1',
    isPortNamed: false,
    plugins: [],
    webhookNetworks: '',
    localSlots: null
  })
  expect(warnings).toEqual([])
})

test("scrapdeck.conf accepts the service's options; its paths are relative to it", async () => {
  await using userData = await makeTemporaryDirectory()
  await writeFile(join(userData.path, 'tell.mjs'), PLUGIN)
  const file = '[scrapyd]\nhttp_port = 7001\n[scrapdeck]\nplugins = tell.mjs timeout=2\nwebhook_networks = 10.0.0.0/8\n'
  await writeFile(join(userData.path, 'scrapdeck.conf'), file)
  const { options } = readDesktopSettings(userData.path, { SCRAPDECK_PYTHON: '/python' }, userData.path)
  expect(options).toMatchObject({
    port: 7001,
    isPortNamed: true,
    webhookNetworks: '10.0.0.0/8',
    pythonPath: '/python',
    plugins: [{ name: 'tell', module: join(userData.path, 'tell.mjs'), timeoutMs: 2_000 }]
  })
})

test('an address that other machines reach needs consent: the app has no certificate', async () => {
  await using userData = await makeTemporaryDirectory()
  const read = (environment: Record<string, string>) => readDesktopSettings(userData.path, environment, userData.path)
  const bind = { SCRAPDECK_BIND: '0.0.0.0', SCRAPDECK_TLS_CERTIFICATE: '/c', SCRAPDECK_TLS_KEY: '/k' }
  expect(() => read(bind)).toThrow('plain HTTP on 0.0.0.0')
  expect(read({ ...bind, SCRAPDECK_ALLOW_PLAIN_HTTP: 'on' }).options.bindAddress).toBe('0.0.0.0')
})

test("the user's configuration file and all variables apply as in the service, below scrapdeck.conf", async () => {
  await using userData = await makeTemporaryDirectory()
  await using home = await makeTemporaryDirectory()
  const shared = '[scrapyd]\nhttp_port = 7003\nmax_proc = 9\nnode_name = shared\n[scrapdeck]\ncancel_waits = 5 2 1\n'
  await writeFile(join(home.path, '.scrapyd.conf'), shared)
  await writeFile(join(userData.path, 'scrapdeck.conf'), '[scrapyd]\nnode_name = own\n')
  const read = (environment: Record<string, string>) => readDesktopSettings(userData.path, environment, home.path)
  // Another port can be used, because a Scrapyd here may use this one.
  expect(read({ SCRAPYD_MAX_PROC: '3' }).options).toMatchObject({
    port: 7003,
    isPortNamed: false,
    configuredSlots: 3,
    scrapyd: { nodeName: 'own' },
    cancelWaitsSeconds: [5, 2, 1]
  })
  expect(read({ SCRAPDECK_PORT: '7004' }).options).toMatchObject({ port: 7004, isPortNamed: true })
})

test('unknown options are rejected with their line', async () => {
  await using userData = await makeTemporaryDirectory()
  await writeFile(join(userData.path, 'scrapdeck.conf'), '[scrapdeck]\nplugin = tell.mjs\n')
  expect(() => readDesktopSettings(userData.path, {}, userData.path)).toThrow(
    /scrapdeck\.conf, line 2: \[scrapdeck\] has no option/
  )
})
