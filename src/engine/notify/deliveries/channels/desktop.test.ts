import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AlertNotice, type AlertId, type ProjectName } from '../../../../shared/contract/index.ts'
import { anAlert, aRunAlert, deliveryOf, hostileNews, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { noticeOf } from './desktop.ts'

const everything = () => true
const onlyShop = ({ project }: { project: string | null }) => project === 'shop'

test('one alert is named in the title, with what is wrong', () => {
  expect(noticeOf(deliveryOf(someNews()), everything)).toEqual({
    id: 'msg_m8x2v9_1',
    atMs: NOW_MS,
    groupId: 'channel rule ',
    severity: 'critical',
    title: 'Critical: north',
    body: 'north is down: connection refused',
    alertIds: ['a'.repeat(32)],
    retryJobIds: []
  })
})

test('several alerts are counted and the first ones listed; ended ones among them are counted', () => {
  const firing = Array.from({ length: 6 }, (_, index) =>
    anAlert({ id: String(index).repeat(32) as AlertId, text: `n${index} is down` })
  )
  const news = someNews({ kind: 'repeat', firing, moreFiring: 10, resolved: [anAlert({ resolvedAtMs: NOW_MS })] })
  expect(noticeOf(deliveryOf(news), everything)).toMatchObject({
    title: 'Critical: 16 alerts',
    body: 'n0 is down\nn1 is down\nn2 is down\nn3 is down\nand 12 more\n1 resolved\nNot acknowledged yet'
  })
})

test('an ended alert has no severity and cannot be acknowledged', () => {
  const news = someNews({ firing: [], resolved: [anAlert({ resolvedAtMs: NOW_MS })] })
  expect(noticeOf(deliveryOf(news), everything)).toMatchObject({
    title: 'Resolved: north',
    severity: null,
    alertIds: [],
    retryJobIds: []
  })
})

test('a run that has ended can be run again, one that still runs cannot', () => {
  const late = aRunAlert({ watch: 'job_runs_long' })
  const retryOf = (alert = aRunAlert()) => noticeOf(deliveryOf(someNews({ firing: [alert] })), everything)?.retryJobIds
  expect([retryOf(), retryOf(late)]).toEqual([['d'.repeat(32)], []])
})

test('a user of one project gets its alerts, and not the number of others', () => {
  const firing = [anAlert(), aRunAlert()]
  const news = someNews({ firing, moreFiring: 7, title: '9 alerts: north is down: connection refused' })
  const notice = noticeOf(deliveryOf(news), onlyShop)!
  expect(notice).toMatchObject({ title: expect.stringMatching(/shop\/prices$/), alertIds: ['c'.repeat(32)] })
  expect(JSON.stringify(notice)).not.toMatch(/north|9 alerts|more/)
  expect(noticeOf(deliveryOf(someNews()), onlyShop)).toBeNull()
})

test('a user of one project learns nothing of others from a message that lists only that project', () => {
  const news = someNews({ severity: 'critical', firing: [aRunAlert()], moreFiring: 7, moreResolved: 3 })
  const notice = noticeOf(deliveryOf(news), onlyShop)!
  expect(notice).toMatchObject({ title: 'Warning: shop/prices', severity: 'warning', body: aRunAlert().text })
})

test('whatever the texts are, a notice is short, matches the contract, and has no control characters', () => {
  fc.assert(
    fc.property(hostileNews(25), fc.constantFrom('shop' as ProjectName, null), (news, project) => {
      const notice = noticeOf(deliveryOf(news), project === null ? everything : (of) => of.project === project)
      if (notice === null) return
      AlertNotice.parse(notice)
      expect(notice.title.length).toBeLessThanOrEqual(100)
      expect(notice.body.length).toBeLessThanOrEqual(1_000)
      expect(notice.title + notice.body.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
    })
  )
})
