import { uploadDemo } from '../support/demo-egg.ts'
import {
  backfillTheWeek,
  createAndRunNow,
  editCronInAllDirections,
  findWhatWasMissed,
  pauseWithANote,
  readLongTimesInTheTable,
  seeClockChanges
} from '../stories/schedules.ts'
import { expect, test } from './browser-test.ts'

test('a schedule can be written in any form, explains clock changes, runs, pauses, backfills and reports missed runs', async ({
  page,
  serve
}) => {
  test.setTimeout(240_000)
  const service = await serve({ localSlots: 3 })
  await uploadDemo(service, 'v1')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await editCronInAllDirections(page)
  await seeClockChanges(page)
  await createAndRunNow(page)
  await pauseWithANote(page)
  await backfillTheWeek(page, service.client)
  await readLongTimesInTheTable(page, service.client)
  await findWhatWasMissed(page, service)
})
