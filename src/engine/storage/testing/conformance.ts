import { afterEach, beforeEach, describe } from 'vitest'
import { describeAlerts } from './alerts.ts'
import { describeAlertFacts } from './alert-facts.ts'
import { describeAttempts } from './attempts.ts'
import { describeAudit } from './audit.ts'
import { describeChains } from './chains.ts'
import { describeChangeLog } from './change-log.ts'
import { describeEnd } from './end.ts'
import { describeErrors } from './errors.ts'
import { describeFleet } from './fleet.ts'
import { testHistories } from './history.ts'
import { describeHolds } from './holds.ts'
import { describeKeptItems } from './kept-items.ts'
import { describeKeptLogs } from './kept-logs.ts'
import { describeJobs } from './jobs.ts'
import { testAgainstModel } from './model.ts'
import { describeOperators } from './operators.ts'
import { describeSecondFactors } from './second-factors.ts'
import { describeOrder } from './order.ts'
import { describePruning } from './pruning.ts'
import { describeQueue } from './queue.ts'
import { describeRetention, testRetentionAgainstModel } from './retention.ts'
import { describeSchedules } from './schedules.ts'
import { describeWebhooks } from './webhooks.ts'
import { createStory, type StoreUnderTest } from './story.ts'

/** `stories`: the numbers of random stories, and of the shorter stories about retention. */
export function describeStore(
  name: string,
  openStore: () => Promise<StoreUnderTest>,
  stories = { any: 50, retention: 100 }
): void {
  describe(name, () => {
    const story = createStory(openStore)
    beforeEach(() => story.open())
    afterEach(() => story.remove())

    describeJobs(story)
    describeQueue(story)
    describeHolds(story)
    describeOrder(story)
    describeAttempts(story)
    describeErrors(story)
    describeKeptItems(story)
    describeKeptLogs(story)
    describeFleet(story)
    describeOperators(story)
    describeSecondFactors(story)
    describeAudit(story)
    describeChains(story)
    describeSchedules(story)
    describeWebhooks(story)
    describeAlerts(story)
    describeAlertFacts(story)
    describeChangeLog(story)
    describePruning(story)
    describeRetention(story)
    describeEnd(story)
  })

  describe(`${name} against a model`, () => {
    testAgainstModel(openStore, stories.any)
    testHistories(openStore, stories.any)
    testRetentionAgainstModel(openStore, stories.retention)
  })
}
