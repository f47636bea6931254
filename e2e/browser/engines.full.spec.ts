import { whyNoPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { leaderAmong, startSharedEngines } from '../support/engines.ts'
import { makeLoginLink } from '../support/login-link.ts'
import { expect, test } from './browser-test.ts'

test.skip(whyNoPostgres() !== null, whyNoPostgres() ?? '')

test('a page says which engine it uses and which one leads, also after a handover to its own engine', async ({
  page
}) => {
  const shared = await startSharedEngines(['north', 'south'])
  try {
    const [north, south] = shared.engines
    await page.goto(await makeLoginLink(south!))
    await page.getByRole('link', { name: 'south north leads' }).click()
    await page
      .getByRole('listitem', { name: 'Engine south' })
      .getByRole('button', { name: 'Hand over to south' })
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click()
    expect(await leaderAmong(['south'], south!)).toBe('south')
    // The page shows the login, because sessions belong to the former leader unless the engines share them.
    await expect(page.getByLabel('Password')).toBeVisible()
    await page.goto(await makeLoginLink(south!))
    await page.getByRole('link', { name: 'south leads', exact: true }).click()
    const leader = page.getByRole('list', { name: 'Leaders' }).getByRole('listitem').first()
    await expect(leader).toContainText('south')
    await expect(leader).toContainText('the leadership was handed over')
    await expect(page.getByRole('status').filter({ hasText: 'Live' })).toBeVisible()
    expect(await (await fetch(`${north!.address}/health/live`)).json()).toMatchObject({ engine: 'north', leads: false })
    expect(await (await fetch(`${south!.address}/health/live`)).json()).toMatchObject({ engine: 'south', leads: true })
  } finally {
    await shared.stop()
  }
})
