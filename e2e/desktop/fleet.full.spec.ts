import { join } from 'node:path'
import { isLong } from '../../scripts/test-length.mjs'
import { uploadFolder, workWithAFleet } from '../stories/fleet.ts'
import { startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { expect, sharedTest, test, untilDoor } from './desktop-test.ts'

// Plays the same stories as the browser tests over the desktop's transport. Short runs play only those of the demo
// and the folder.
const longTest = isLong ? test : test.skip

longTest('the desktop runs the same fleet by hand', async ({ launch, userData }) => {
  test.setTimeout(120_000)
  const touchFile = join(userData, 'touched')
  const environment = { DEMO_TOUCH_FILE: touchFile }
  const scrapyds = await startScrapydFleet(Array.from({ length: 3 }, () => ({ environment })))
  try {
    const desktop = await launch({ environment })
    const window = await desktop.window()
    await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
    const door = await untilDoor(userData)
    if (!door) throw new Error('The desktop has no HTTP door')
    await workWithAFleet(window, { urls: scrapyds.map(({ url }) => url), client: door.client, touchFile })
  } finally {
    await Promise.all(scrapyds.map((scrapyd) => scrapyd.stop()))
  }
})

sharedTest('the desktop packs a project’s folder too', async ({ window, userData }) => uploadFolder(window, userData))
