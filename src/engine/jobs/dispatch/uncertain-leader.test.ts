import { expect } from 'vitest'
import { it } from '../../testing/dispatch-fixtures.ts'

it('an engine that is not certain to lead claims nothing until it is certain', async ({ clock, node, engine }) => {
  let isCertain = false
  await engine.start({ n1: node }, { mayAct: () => isCertain })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  expect(await engine.kinds(id!)).toEqual(['queued'])
  isCertain = true
  await clock.advanceBy(500)
  expect(node.executed).toEqual([id])
})

it('an engine that loses its lease while it sends a job does not send it, and records one refused attempt', async ({
  clock,
  node,
  engine
}) => {
  let answers = [true]
  await engine.start({ n1: node }, { mayAct: () => answers.shift() ?? false })
  const [id] = await engine.enqueueMany(1)
  await clock.advanceBy(2_000)
  expect(node.executed).toEqual([])
  expect(await engine.kinds(id!)).toEqual(['queued', 'sending', 'refused'])
  answers = Array.from({ length: 10 }, () => true)
  await clock.advanceBy(500)
  expect(node.executed).toEqual([`${id}-2`])
})
