import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, untilDoor, WITHOUT_LOCAL_NODE } from './desktop-test.ts'

const PLUGIN = `
import { writeFileSync } from 'node:fs'
export default ({ said }) => {
  writeFileSync(said, 'started')
  return {}
}
`

test('scrapdeck.conf loads plugins and allows webhook networks, as it does for the service', async ({
  launch,
  userData
}) => {
  const said = join(userData, 'said.txt')
  writeFileSync(join(userData, 'tell.mjs'), PLUGIN)
  writeFileSync(
    join(userData, 'scrapdeck.conf'),
    `[scrapdeck]\nplugins = tell.mjs said=${said}\nwebhook_networks = 10.0.0.0/8\n`
  )
  const desktop = await launch({ environment: WITHOUT_LOCAL_NODE })
  await desktop.window()
  const door = await untilDoor(userData)
  const create = (url: string) => door!.client.webhooks.create({ name: url, url, events: ['job.queued'] })
  expect((await create('http://10.1.2.3:9/')).webhook.url).toBe('http://10.1.2.3:9/')
  await expect(create('http://127.0.0.1:9/')).rejects.toMatchObject({ code: 'WEBHOOK_URL_FORBIDDEN' })
  expect(readFileSync(said, 'utf8')).toBe('started')
})

test('an invalid line prevents the start, and the error names it', async ({ launch, userData }) => {
  writeFileSync(join(userData, 'scrapdeck.conf'), '[scrapdeck]\nplugin = tell.mjs\n')
  const desktop = await launch()
  test.skip(desktop.kind === 'electron', 'the error box of a real desktop waits for a click')
  expect(await desktop.exited).toBe(1)
  expect(desktop.output()).toContain('scrapdeck.conf, line 2: [scrapdeck] has no option "plugin"')
})
