import { expect, test } from 'vitest'
import { Mailbox } from './mailbox.ts'

test('a command is sent until its number is confirmed', () => {
  const mailbox = new Mailbox()
  mailbox.push({ kind: 'list' })
  mailbox.push({ kind: 'ack', runs: [] })
  expect(mailbox.next().map(({ n }) => n)).toEqual([1, 2])
  expect(mailbox.next().map(({ n }) => n)).toEqual([1, 2])
  mailbox.confirm(1)
  expect(mailbox.next().map(({ n }) => n)).toEqual([2])
  mailbox.confirm(2)
  expect(mailbox.isEmpty).toBe(true)
  expect(mailbox.push({ kind: 'list' })).toBe(3)
})

test('a response has a size limit, but is never empty', () => {
  const mailbox = new Mailbox()
  const jobid = 'j'.repeat(3_000_000)
  for (let count = 0; count < 3; count += 1) mailbox.push({ kind: 'withdraw', project: 'p', jobid })
  expect(mailbox.next()).toHaveLength(1)
  mailbox.confirm(2)
  expect(mailbox.next()).toHaveLength(1)
})
