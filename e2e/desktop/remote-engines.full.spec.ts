import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openScreen } from '../stories/first-run.ts'
import { dropFile, jobRows, runSpiders } from '../stories/fleet.ts'
import { engineMenu, fillEngineForm, openEngineForm, status, submitEngine, switchTo } from '../stories/remote-engine.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { startService, TEST_CREDENTIALS } from '../support/service.ts'
import { expect, test, untilDoor, WITHOUT_LOCAL_NODE } from './desktop-test.ts'

test('a second engine shows its jobs and a run with its live log; it can be cut off, reconnected and made read-only', async ({
  launch,
  userData
}) => {
  test.setTimeout(240_000)
  const service = await startService({ localSlots: 1 })
  try {
    const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
    const window = await desktop.window()
    await untilDoor(userData)
    await openEngineForm(window)
    await fillEngineForm(window, 'Frankfurt', service.address)
    await submitEngine(window)
    await expect(engineMenu(window)).toHaveAccessibleName('Engine: Frankfurt')
    await expect(status(window, 'Live')).toBeVisible()
    expect(readFileSync(join(userData, 'engines.json'), 'utf8')).not.toContain(TEST_CREDENTIALS.password)

    await dropFile(window, 'demo-r1.egg', await buildDemoEgg())
    const deploy = window.getByRole('dialog', { name: 'Deploy project' })
    await deploy.getByRole('button', { name: 'Upload' }).click()
    await expect(deploy).toContainText('broken, prices, quotes, slow')
    await deploy.getByRole('button', { name: 'Close', exact: true }).last().click()
    const { projects } = await service.client.projects.list()
    expect(projects.map(({ name }) => name)).toEqual(['demo'])

    await runSpiders(window, ['slow'], { delay: '1' })
    const { jobs } = await service.client.jobs.list({})
    const { id } = jobs[0]!
    await openScreen(window, 'Jobs')
    await jobRows(window, 'slow').click()
    const pane = window.getByRole('complementary', { name: 'Job' })
    await pane.getByRole('tab', { name: 'Log' }).click()
    await expect(pane.getByRole('log')).toContainText('Tick 2', { timeout: 60_000 })

    await service.kill()
    await expect(status(window, 'Frankfurt has been offline')).toBeVisible()
    await expect(pane).toContainText('slow')
    expect(await window.locator('[data-outdated]').count()).toBe(1)
    await switchTo(window, 'This computer')
    await expect(window.getByRole('grid', { name: 'Jobs' }).or(window.getByText('No jobs')).first()).toBeVisible()
    await expect(window.getByText('slow')).toHaveCount(0)
    await switchTo(window, 'Frankfurt')
    await expect(status(window, 'Frankfurt has been offline')).toBeVisible()

    await service.start()
    await expect(window.locator('[data-outdated]')).toHaveCount(0, { timeout: 60_000 })
    await expect(status(window, 'Live')).toBeVisible()
    await service.client.jobs.cancel({ ids: [id], force: true })

    await expect(window.getByRole('button', { name: /^Run/ }).first()).toBeVisible()
    await engineMenu(window).click()
    await window.getByRole('menuitem', { name: 'Edit Frankfurt…' }).click()
    await window.getByRole('dialog').getByRole('checkbox', { name: 'Read-only' }).check()
    await window.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await expect(engineMenu(window)).toHaveAccessibleName('Engine: Frankfurt, read-only')
    await expect(window.getByRole('banner').getByRole('button', { name: /^Run/ })).toHaveCount(0)
  } finally {
    await service.stop()
  }
})
