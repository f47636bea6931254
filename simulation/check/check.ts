import type { History, Violation } from '../work/history.ts'
import { checkSends } from './beliefs.ts'
import { checkJobs } from './jobs.ts'
import { checkLeaders } from './leaders.ts'
import { checkOrders } from './orders.ts'
import { checkPrecedence } from './precedence.ts'
import { checkQuiet } from './quiet.ts'

export function check(history: History): Violation[] {
  return [
    ...checkSends(history),
    ...checkJobs(history),
    ...checkLeaders(history),
    ...checkOrders(history),
    ...checkPrecedence(history),
    ...checkQuiet(history)
  ]
}
