import { expect, test } from './browser-test.ts'

const PASSWORD = 'kestrel amber drawbridge'

test('an owner makes a group for one kind of nodes, and its member sees and drains those alone', async ({
  page,
  browser,
  serve
}) => {
  const service = await serve({ localSlots: 0 })
  const { client } = service
  for (const [name, tag] of [
    ['berlin', 'eu'],
    ['boston', 'us']
  ] as const) {
    await client.nodes.addPulling({ name, tags: [tag] })
  }
  await client.users.create({ name: 'anna', role: 'viewer', password: PASSWORD })

  await page.goto(service.loginLink())
  await page.goto(`${service.address}/ui/#/access`)
  await page.getByRole('button', { name: 'Add group' }).click()
  const form = page.getByRole('dialog', { name: 'Add group' })
  await form.getByLabel('Name').fill('On call')
  await form.getByRole('combobox', { name: 'Members' }).click()
  await page.getByRole('option', { name: 'anna' }).click()
  await page.keyboard.press('Escape')
  await form.getByRole('button', { name: 'Add tag' }).click()
  await form.getByRole('combobox', { name: 'Tag 1', exact: true }).fill('eu')
  await form.getByRole('combobox', { name: 'Role in eu' }).click()
  await page.getByRole('option', { name: /^operator/ }).click()
  await form.getByRole('button', { name: 'Add group' }).click()
  const row = page.getByRole('table', { name: 'Users' }).getByRole('row', { name: /^anna/ })
  await expect(row).toContainText('operator of nodes eu, from On call')
  const { users } = await client.users.list()
  const { groups } = await client.groups.list()
  expect(groups).toMatchObject([{ name: 'On call', members: [users[0]!.id], nodeGroups: { eu: 'operator' } }])

  const context = await browser.newContext()
  const anna = await context.newPage()
  await anna.goto(`${service.address}/ui/login#/nodes`)
  await anna.getByLabel('User name').fill('anna')
  await anna.getByLabel('Password').fill(PASSWORD)
  await anna.getByRole('button', { name: 'Log in' }).click()
  // As a viewer of everything and an operator of the group, anna sees both nodes and can drain only the one in the
  // group.
  await anna.getByRole('row', { name: /boston/ }).click()
  await expect(anna.getByLabel('Node boston')).toBeVisible()
  await expect(anna.getByRole('button', { name: 'Drain' })).toHaveCount(0)
  await anna.getByRole('row', { name: /berlin/ }).click()
  await anna.getByRole('button', { name: 'Cordon' }).click()
  await expect(anna.getByRole('button', { name: 'Cordon' })).toHaveCount(0)
  expect((await client.nodes.list()).nodes.find(({ name }) => name === 'berlin')!.mode).toBe('cordoned')

  // A user with a role only in the group must not notice that the other node and the projects exist.
  await client.users.update({ id: users[0]!.id, role: null, nodeGroups: { eu: 'viewer' } })
  await anna.reload()
  await expect(anna.getByRole('row', { name: /berlin/ })).toBeVisible()
  await expect(anna.getByRole('row', { name: /boston/ })).toHaveCount(0)
  await expect(anna.getByRole('navigation', { name: 'Screens' }).getByRole('link')).toHaveText([
    /Overview/,
    /Nodes/,
    /Settings/
  ])
  await context.close()
})
