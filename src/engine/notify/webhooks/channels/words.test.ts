import { expect, test } from 'vitest'
import { ALERT_WATCH_NAMES, mendOf } from '../../../../shared/alert-watches.ts'
import { anAlert, aRunAlert, someNews } from '../../../testing/alert-news.ts'
import { factsOf } from './words.ts'

const toDo = (over: Parameters<typeof someNews>[0]) =>
  factsOf(someNews(over)).flatMap(([name, value]) => (name === 'What to do' ? [value] : []))

test('what to do is said once for all that fire, and not where they are of several kinds', () => {
  expect(toDo({ firing: [anAlert(), anAlert({ subject: 'south' })] })).toEqual([mendOf('node_down')])
  expect(toDo({ firing: [anAlert(), aRunAlert()] })).toEqual([])
})

test('nothing is to be done about what is over, and problems of the service say it themselves', () => {
  expect(toDo({ firing: [], resolved: [anAlert()] })).toEqual([])
  expect(toDo({ firing: [anAlert({ watch: 'service_problem' })] })).toEqual([])
})

test('it is a sentence or two, which have room in every message', () => {
  for (const watch of ALERT_WATCH_NAMES) {
    const words = mendOf(watch)
    if (watch === 'service_problem') expect(words).toBeNull()
    else expect(words).toMatch(/^[A-Z][^.]{20,}\.(?: [A-Z][^.]{20,}\.)?$/)
    expect(words?.length ?? 0).toBeLessThanOrEqual(200)
  }
})
