import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { SshWorld, whyNoSsh } from '../../src/engine/nodes/ssh/testing/ssh-world.ts'
import { openScreen } from '../stories/first-run.ts'
import { engineMenu, fillEngineForm, openEngineForm, status, submitEngine } from '../stories/remote-engine.ts'
import { aCertificate } from '../support/a-certificate.ts'
import type { Desktop } from '../support/desktop.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { expect, test, untilDoor, WITHOUT_LOCAL_NODE } from './desktop-test.ts'

/** Returns the URL that the app would open in the browser, or null before it opens one. */
async function catchLinks(desktop: Desktop): Promise<() => Promise<string | null>> {
  await desktop.evaluate(({ shell }) => {
    shell.openExternal = async (url) => void Object.assign(globalThis, { openedLink: url })
  })
  return () => desktop.evaluate(() => (globalThis as { openedLink?: string }).openedLink ?? null)
}

async function allowDesktop(page: Page): Promise<void> {
  await logIn(page)
  await expect(page.getByRole('heading', { name: /^Allow the desktop app on / })).toBeVisible()
  await page.getByRole('button', { name: 'Allow' }).click()
  await expect(page.getByRole('heading', { name: 'Signed in' })).toBeVisible()
}

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('User name').fill(TEST_CREDENTIALS.username)
  await page.getByLabel('Password').fill(TEST_CREDENTIALS.password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

test('a self-made certificate is pinned on first use; the connection is refused with another one until that is trusted', async ({
  launch,
  userData
}) => {
  test.setTimeout(180_000)
  const certificates = join(userData, 'certificates')
  const fingerprints = ['first', 'second'].map((name) => aCertificate(certificates, name).fingerprint)
  const withCertificate = (name: string, more: { arguments?: string[] } = {}) => ({
    localSlots: 0,
    environment: {
      SCRAPDECK_TLS_CERTIFICATE: join(certificates, `${name}.pem`),
      SCRAPDECK_TLS_KEY: join(certificates, `${name}.key`)
    },
    ...more
  })
  let service: Service = await startService(withCertificate('first'))
  try {
    const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
    const window = await desktop.window()
    await untilDoor(userData)
    const { address } = service
    await openEngineForm(window)
    await fillEngineForm(window, 'Frankfurt', address)
    await submitEngine(window)
    const dialog = window.getByRole('dialog')
    await expect(dialog.getByRole('alert')).toContainText(fingerprints[0]!)
    await dialog.getByRole('checkbox', { name: 'Trust this certificate' }).check()
    await submitEngine(window)
    await expect(engineMenu(window)).toHaveAccessibleName('Engine: Frankfurt')
    await expect(status(window, 'Live')).toBeVisible()

    await service.stop()
    await expect(status(window, 'Frankfurt has been offline')).toBeVisible()
    const port = `--port=${new URL(address).port}`
    service = await startService(withCertificate('second', { arguments: [port] }))
    await expect(status(window, 'Frankfurt has refused the connection')).toContainText(fingerprints[1]!)
    await window.getByRole('button', { name: 'Edit engine…' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(dialog.getByRole('alert')).toContainText('The certificate has changed')
    await dialog.getByRole('checkbox', { name: 'Trust this certificate' }).check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(status(window, 'Live')).toBeVisible()
    await expect(status(window, 'has refused')).toHaveCount(0)
  } finally {
    await service.stop()
  }
})

test('the user signs in with the browser; after a restart, the last state is grey, Run says why it waits, and the node has its own name', async ({
  launch,
  userData,
  page
}) => {
  test.setTimeout(240_000)
  const service = await startService({ localSlots: 1 })
  try {
    const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
    const window = await desktop.window()
    await untilDoor(userData)
    const openedLink = await catchLinks(desktop)
    await openEngineForm(window)
    const dialog = window.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Frankfurt')
    await dialog.getByRole('textbox', { name: 'Address' }).fill(service.address)
    await window.screenshot({ path: '.cache/screenshots/remote-sign-in-1280.png' })
    await dialog.getByRole('button', { name: 'Log in…' }).click()
    await expect(dialog.getByText('Continue in your browser')).toBeVisible()
    await expect.poll(openedLink).not.toBeNull()
    await page.goto((await openedLink())!)
    await allowDesktop(page)
    await expect(engineMenu(window)).toHaveAccessibleName('Engine: Frankfurt')
    await expect(status(window, 'Live')).toBeVisible()
    const { tokens } = await service.client.tokens.list()
    expect(tokens.map(({ name }) => name)).toEqual([expect.stringMatching(/^Desktop app on /)])
    expect(readFileSync(join(userData, 'engines.json'), 'utf8')).not.toContain('sdk_')

    await openScreen(window, 'Nodes')
    const nodes = window.getByRole('grid', { name: 'Nodes' })
    await expect(nodes).toContainText('Local node')
    await expect(nodes).not.toContainText('This computer')

    await desktop.close()
    await service.kill()
    const later = await launch({ environment: WITHOUT_LOCAL_NODE })
    const again = await later.window()
    await expect(engineMenu(again)).toHaveAccessibleName(/^Engine: Frankfurt/)
    await expect(status(again, 'Frankfurt has been offline')).toContainText(/last known state, as of .*\d\d:\d\d/)
    await openScreen(again, 'Nodes')
    await expect(again.getByRole('grid', { name: 'Nodes' })).toContainText('Local node')
    expect(await again.locator('[data-outdated]').count()).toBe(1)
    const run = again.getByRole('banner').getByRole('button', { name: /^Run/ })
    await expect(run).toHaveAttribute('aria-disabled', 'true')
    await run.hover()
    await expect(again.getByRole('tooltip')).toContainText('Frankfurt is offline')
    await again.screenshot({ path: '.cache/screenshots/remote-last-state-1280.png' })
  } finally {
    await service.stop()
  }
})

test('the user signs in with the browser through an SSH host, at a local port that is closed afterwards', async ({
  launch,
  userData,
  page
}) => {
  test.skip(whyNoSsh() !== null, whyNoSsh() ?? '')
  test.setTimeout(240_000)
  const world = new SshWorld()
  const service = await startService({ localSlots: 0 })
  const received: (string | undefined)[] = []
  const other = createServer(({ headers }, response) => {
    received.push(headers.cookie)
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'own=1' }).end('Another program')
  }).listen(0, '127.0.0.1')
  try {
    await once(other, 'listening')
    const host = await world.startServer()
    const desktop = await launch({ environment: { ...WITHOUT_LOCAL_NODE, SCRAPDECK_SSH_PROGRAM: world.program } })
    const window = await desktop.window()
    await untilDoor(userData)
    const openedLink = await catchLinks(desktop)
    await openEngineForm(window)
    const dialog = window.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Frankfurt')
    await dialog.getByRole('textbox', { name: 'Address' }).fill(`${host.url}/${service.address}`)
    await expect(dialog.getByRole('checkbox', { name: 'Use a code in another browser' })).toBeVisible()
    await window.screenshot({ path: '.cache/screenshots/remote-sign-in-ssh-1280.png' })
    await dialog.getByRole('button', { name: 'Log in…' }).click()
    await expect.poll(openedLink).not.toBeNull()
    const { origin } = new URL((await openedLink())!)
    expect(origin).not.toBe(service.address)
    await page.goto((await openedLink())!)
    await allowDesktop(page)
    await expect(engineMenu(window)).toHaveAccessibleName('Engine: Frankfurt')
    await expect(status(window, 'Live')).toBeVisible()
    await expect(fetch(origin)).rejects.toThrow('fetch failed')
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual([
      `scrapdeck_relay_${new URL(origin).port}`
    ])
    // Another program on this computer receives only its own cookies, even if it belongs to another user.
    const otherPort = (other.address() as AddressInfo).port
    await page.goto(`http://127.0.0.1:${otherPort}/first`)
    await page.goto(`http://127.0.0.1:${otherPort}/second`)
    expect([...new Set(received)]).toEqual([undefined, 'own=1'])

    await engineMenu(window).click()
    await window.getByRole('menuitem', { name: 'Edit Frankfurt…' }).click()
    await dialog.getByRole('checkbox', { name: 'Log in again' }).check()
    await dialog.getByRole('checkbox', { name: 'Use a code in another browser' }).check()
    await dialog.getByRole('button', { name: 'Log in…' }).click()
    const waiting = dialog.getByRole('status').filter({ hasText: 'enter this code' })
    await expect(waiting).toContainText(/[A-Z]{4}-[A-Z]{4}/)
    await window.screenshot({ path: '.cache/screenshots/remote-sign-in-code-1280.png' })
    const [address, code] = await waiting.locator('code').allTextContents()
    await page.goto(address!)
    await logIn(page)
    await page.getByRole('textbox', { name: 'Code' }).fill(code!)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await expect(dialog).toHaveCount(0)
    await expect(status(window, 'Live')).toBeVisible()
    expect((await service.client.tokens.list()).tokens).toHaveLength(1)
  } finally {
    other.close()
    await service.stop()
    await world.close()
  }
})
