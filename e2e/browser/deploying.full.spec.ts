import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { dropFile, uploadFolder } from '../stories/fleet.ts'
import { expect, test } from './browser-test.ts'

test('a file that is not an egg is refused with its reason, and the next drop works', async ({ page, serve }) => {
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await dropFile(page, 'picture.egg', new TextEncoder().encode('not a zip at all'))
  const dialog = page.getByRole('dialog', { name: 'Deploy project' })
  await dialog.getByRole('button', { name: 'Upload' }).click()
  await expect(dialog.getByRole('alert')).toContainText('EGG_NOT_A_ZIP')
  await expect(dialog.getByRole('button', { name: 'Retry upload' })).toBeVisible()
  expect((await service.client.projects.list()).projects).toEqual([])
})

test('a project’s folder is enough: the page packs it, the engine builds the egg and lists its spiders', async ({
  page,
  serve
}) => {
  await using directory = await makeTemporaryDirectory()
  const service = await serve()
  await page.goto(service.loginLink())
  await uploadFolder(page, directory.path)
  expect((await service.client.projects.list()).projects.map(({ name }) => name)).toEqual(['demo'])
})
