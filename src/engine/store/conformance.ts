import { afterEach, beforeEach, describe } from 'vitest'
import { describeAttempts } from './conformance/attempts.ts'
import { describeChangeLog } from './conformance/change-log.ts'
import { describeEnd } from './conformance/end.ts'
import { describeFleet } from './conformance/fleet.ts'
import { describeJobs } from './conformance/jobs.ts'
import { testAgainstModel } from './conformance/model.ts'
import { describeQueue } from './conformance/queue.ts'
import { createStory, type StoreUnderTest } from './conformance/story.ts'

/** What every Store must do, whatever it is made of. Each test has a store on empty data of its own. */
export function describeStore(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    const story = createStory(openStore)
    beforeEach(() => story.open())
    afterEach(() => story.remove())

    describeJobs(story)
    describeQueue(story)
    describeAttempts(story)
    describeFleet(story)
    describeChangeLog(story)
    describeEnd(story)
  })

  describe(`${name} against a model`, () => testAgainstModel(openStore))
}
