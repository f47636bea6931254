import { expect, test } from 'vitest'
import { ALERT_WATCH_NAMES, mendOf } from '../../../../shared/alert-watches.ts'
import { anAlert, aRunAlert, someNews } from '../../../testing/alert-news.ts'
import { factsOf } from './words.ts'

const toDo = (over: Parameters<typeof someNews>[0]) =>
  factsOf(someNews(over)).flatMap(([name, value]) => (name === 'What to do' ? [value] : []))

test('the advice is given once for all firing alerts, and omitted if they are of several kinds', () => {
  expect(toDo({ firing: [anAlert(), anAlert({ subject: 'south' })] })).toEqual([mendOf('node_down')])
  expect(toDo({ firing: [anAlert(), aRunAlert()] })).toEqual([])
})

test('ended alerts need no advice, and problems of the service contain it themselves', () => {
  expect(toDo({ firing: [], resolved: [anAlert()] })).toEqual([])
  expect(toDo({ firing: [anAlert({ watch: 'service_problem' })] })).toEqual([])
})

test('the advice is one or two sentences, which fit into every message', () => {
  for (const watch of ALERT_WATCH_NAMES) {
    const words = mendOf(watch)
    if (watch === 'service_problem') expect(words).toBeNull()
    else expect(words).toMatch(/^[A-Z][^.]{20,}\.(?: [A-Z][^.]{20,}\.)?$/)
    expect(words?.length ?? 0).toBeLessThanOrEqual(200)
  }
})
