import type { Page } from '@playwright/test'
import { Secret, TOTP } from 'otpauth'
import { basicAuthorization } from '../support/basic-authorization.ts'
import type { Service } from '../support/service.ts'

const PASSWORD = 'kestrel amber window'

export async function fillAccess({ address, client }: Service): Promise<void> {
  const add = async (name: string, role: 'viewer' | 'operator' | 'deployer' | 'admin') =>
    (await client.users.create({ name, role, password: PASSWORD })).user
  await client.roles.create({
    name: 'shop keeper',
    description: 'Runs and cancels jobs, and leaves schedules alone',
    permissions: ['jobs.run', 'jobs.cancel']
  })
  await client.roles.create({ name: 'auditor', description: '', permissions: ['audit.read'] })
  const anna = await add('anna', 'operator')
  const ben = await add('ben', 'viewer')
  await client.users.update({ id: ben.id, projects: { shop: 'deployer' } })
  const kim = await add('kim', 'viewer')
  await client.users.update({ id: kim.id, role: null, projects: { shop: 'shop keeper', news: 'viewer' } })
  await setUpApp(address, 'kim')
  const { user: ci } = await client.users.create({ name: 'ci', kind: 'service', role: 'deployer' })
  const old = await add('erik.johansson@example.org', 'admin')
  await client.users.update({ id: old.id, enabled: false })
  const { users } = await client.users.list()
  const members = users.filter(({ kind }) => kind === 'person').map(({ id }) => id)
  await client.groups.create({
    name: 'Crawl team',
    description: 'Runs the crawls of all shops',
    role: 'operator',
    members: members.slice(0, 3),
    projects: { shop: 'deployer' }
  })
  await client.groups.create({ name: 'On call', nodeGroups: { eu: 'operator', us: 'operator' }, members: [anna.id] })
  await client.tokens.create({ name: 'laptop', userId: anna.id, role: 'operator' })
  await client.tokens.create({ name: 'Grafana', role: 'viewer', projects: ['shop'], expiresInDays: null })
  const { secret } = await client.tokens.create({ name: 'GitLab deploys', userId: ci.id, expiresInDays: 365 })
  await fetch(`${address}/api/v1/users/me`, { headers: { authorization: `Bearer ${secret}` } })
}

async function setUpApp(address: string, username: string): Promise<void> {
  const headers = {
    authorization: basicAuthorization({ username, password: PASSWORD }),
    'content-type': 'application/json'
  }
  const post = async (path: string, body: object) => {
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(`${address}/api/v1/users/me/${path}`, request)).json()) as { secret: string }
  }
  const { secret } = await post('authenticator', { current: PASSWORD })
  await post('authenticator/confirm', { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() })
}

const openAccess = async (page: Page) => {
  await page.goto('#/access')
  const stop = page.getByRole('status').getByRole('button', { name: 'Stop' })
  if (await stop.isVisible()) await stop.click()
  await page.getByText('GitLab deploys').waitFor()
}

const logInAs = async (page: Page, name: string) => {
  await page.context().clearCookies()
  await page.goto('login')
  await page.locator('input[name=username]').fill(name)
  await page.locator('input[name=password]').fill(PASSWORD)
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: /^Account of/ }).waitFor()
}

export const ACCESS_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  access: openAccess,
  'access-role': async (page) => {
    await openAccess(page)
    await page.getByRole('combobox', { name: 'Role of anna' }).click()
  },
  'access-rights': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: /^2 individual roles/ }).click()
    await page.getByRole('dialog').waitFor()
  },
  'access-roles': async (page) => {
    await openAccess(page)
    await page.getByRole('table', { name: 'Roles' }).scrollIntoViewIfNeeded()
  },
  'access-role-edit': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'More actions for the role shop keeper' }).click()
    await page.getByRole('menuitem', { name: 'Edit…' }).click()
    await page.getByRole('dialog').waitFor()
  },
  'access-role-built-in': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'More actions for the role deployer' }).click()
    await page.getByRole('menuitem', { name: 'Show permissions' }).click()
    await page.getByRole('dialog').waitFor()
  },
  'access-role-in-use': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'More actions for the role shop keeper' }).click()
    await page.getByRole('menuitem', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The role shop keeper is in use').waitFor()
  },
  'access-view-as': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'View as…' }).click()
    await page.getByRole('menuitem', { name: 'viewer' }).click()
    await page.getByText('You see what').waitFor()
  },
  'access-add-user': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'Add user' }).click()
    await page.getByRole('textbox', { name: 'Password' }).fill('too short')
    await page.getByRole('dialog').getByRole('button', { name: 'Add user' }).click()
  },
  'access-groups': async (page) => {
    await openAccess(page)
    await page.getByRole('table', { name: 'Groups' }).scrollIntoViewIfNeeded()
  },
  'access-add-group': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'Add group' }).click()
    const form = page.getByRole('dialog')
    await form.getByRole('textbox', { name: 'Name' }).fill('Night watch')
    await form.getByRole('button', { name: 'Add tag' }).click()
    await form.getByRole('combobox', { name: 'Tag 1', exact: true }).fill('eu')
    await form.getByRole('combobox', { name: 'Role in eu' }).click()
  },
  'access-remove-group': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'More actions for Crawl team' }).click()
    await page.getByRole('menuitem', { name: 'Remove…' }).click()
  },
  'access-create-token': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog').getByRole('combobox', { name: 'Role' }).click()
  },
  'access-token': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('nightly report')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByText('I have saved it').waitFor()
  },
  'access-remove': async (page) => {
    await openAccess(page)
    await page.getByRole('button', { name: 'More actions for ci' }).click()
    await page.getByRole('menuitem', { name: 'Remove…' }).click()
  },
  'access-viewer': async (page) => {
    await logInAs(page, 'ben')
    await page.goto('#/access')
    await page.getByText('Your tokens').waitFor()
  },
  'access-set-up-app': async (page) => {
    await logInAs(page, 'ben')
    await page.goto('#/access')
    await page.getByRole('button', { name: 'Set up an authenticator app…' }).click()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: /^QR code/ }).waitFor()
  },
  'access-viewer-menu': async (page) => {
    await page.goto('#/nodes')
    await page.getByRole('button', { name: /^Account of/ }).click()
  },
  'access-viewer-settings': (page) => page.goto('#/settings').then(() => {}),
  'access-code': async (page) => {
    await page.context().clearCookies()
    await page.goto('login')
    await page.locator('input[name=username]').fill('kim')
    await page.locator('input[name=password]').fill(PASSWORD)
    await page.locator('button[type=submit]').click()
    await page.getByLabel('Code').fill('123 456')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
  }
}

export const ACCESS_ALONE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'access-alone': (page) => page.goto('#/access').then(() => {})
}
