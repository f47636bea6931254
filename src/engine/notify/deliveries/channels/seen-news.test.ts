import { expect, test } from 'vitest'
import type { AlertNews, AlertReport, AlertView } from '../../../../shared/contract/index.ts'
import { branded } from '../../../../shared/testing/ids.ts'
import { exampleNews } from './message.ts'
import { isReportFor, mayTell, newsFor } from './seen-news.ts'

const SHOP = { projects: branded<never>(['shop'] as never) }
const [example] = exampleNews(1).firing
const of = (project: string | null) =>
  ({ ...example, subject: `${project}/a`, labels: { ...example!.labels, project } }) as AlertView
const news = (firing: AlertView[], resolved: AlertView[] = []): AlertNews => ({
  ...exampleNews(1),
  kind: 'news',
  firing,
  resolved,
  moreFiring: 4,
  title: 'all of them'
})

test('a channel for some projects gets their alerts, and none that belong to no project', () => {
  expect([mayTell({}, null), mayTell({ projects: [] }, null), mayTell(SHOP, null)]).toEqual([true, true, false])
  expect([mayTell(SHOP, branded('shop')), mayTell(SHOP, branded('news'))]).toEqual([true, false])
})

test('a delayed message has only what its channel may receive now', () => {
  const whole = news([of('shop')], [of('shop')])
  expect(newsFor(SHOP, whole)).toBe(whole)
  expect(newsFor({ projects: [] }, news([of('news')]))).toMatchObject({ title: 'all of them' })
  const left = newsFor(SHOP, news([of('shop'), of('news')], [of(null)]))
  expect(left).toMatchObject({ firing: [of('shop')], resolved: [], moreFiring: 0 })
  expect(left!.title).not.toBe('all of them')
  expect(newsFor(SHOP, news([of('news')]))).toBeNull()
  expect(newsFor(SHOP, exampleNews(1))).toEqual(exampleNews(1))
})

test('a report with other projects, or with the service, is not sent', () => {
  const none = { failing: [], unusual: [], slowest: [], newErrors: { count: 0, groups: [] }, service: null }
  const report = (over: object) => ({ ...none, ...over }) as unknown as AlertReport
  expect(isReportFor(SHOP, report({ failing: [{ project: 'shop' }] }))).toBe(true)
  expect(isReportFor(SHOP, report({ slowest: [{ project: 'news' }] }))).toBe(false)
  expect(isReportFor(SHOP, report({ service: {} }))).toBe(false)
  expect(isReportFor({}, report({ service: {}, failing: [{ project: 'news' }] }))).toBe(true)
})
