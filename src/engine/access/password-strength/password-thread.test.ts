import { expect, it } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { judgeInThread } from './password-thread.ts'

it('judges any input in a thread, while the event loop continues', async () => {
  const judge = judgeInThread(systemClock)
  let turns = 0
  const timer = setInterval(() => (turns += 1), 10)
  const hardest = ['p@55w0rd$1!'.repeat(18), '4@8({[<369&#!1/|0$5+7%2'.repeat(8), '0123456789'.repeat(20)]
  try {
    const answers = await Promise.all(hardest.map((password) => judge({ password, names: ['anna'] })))
    expect(answers.map((answer) => typeof answer)).toEqual(hardest.map(() => 'boolean'))
    expect(await judge({ password: 'passwordpassword', names: ['anna'] })).toBe(true)
    expect(await judge({ password: 'kestrel amber drawbridge', names: ['anna'] })).toBe(false)
  } finally {
    clearInterval(timer)
  }
  expect(turns).toBeGreaterThan(10)
})
