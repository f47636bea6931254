import { afterEach, beforeEach, describe } from 'vitest'
import { describeAttempts } from './testing/attempts.ts'
import { describeChains } from './testing/chains.ts'
import { describeChangeLog } from './testing/change-log.ts'
import { describeEnd } from './testing/end.ts'
import { describeFleet } from './testing/fleet.ts'
import { describeHolds } from './testing/holds.ts'
import { describeJobs } from './testing/jobs.ts'
import { testAgainstModel } from './testing/model.ts'
import { describeOperators } from './testing/operators.ts'
import { describeOrder } from './testing/order.ts'
import { describePruning } from './testing/pruning.ts'
import { describeQueue } from './testing/queue.ts'
import { describeSchedules } from './testing/schedules.ts'
import { describeWebhooks } from './testing/webhooks.ts'
import { createStory, type StoreUnderTest } from './testing/story.ts'

/** What every Store must do, whatever it is made of. Each test has an empty store of its own; `stories` are random. */
export function describeStore(name: string, openStore: () => Promise<StoreUnderTest>, stories = 50): void {
  describe(name, () => {
    const story = createStory(openStore)
    beforeEach(() => story.open())
    afterEach(() => story.remove())

    describeJobs(story)
    describeQueue(story)
    describeHolds(story)
    describeOrder(story)
    describeAttempts(story)
    describeFleet(story)
    describeOperators(story)
    describeChains(story)
    describeSchedules(story)
    describeWebhooks(story)
    describeChangeLog(story)
    describePruning(story)
    describeEnd(story)
  })

  describe(`${name} against a model`, () => testAgainstModel(openStore, stories))
}
