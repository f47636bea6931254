import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runSideBySide } from './side-by-side.mjs'

interface Task {
  name: string
  title: string
  cores: number
  after: string[]
}

const aTask = (name: string, cores = 1, after: string[] = []): Task => ({ name, title: name, cores, after })

test('two tasks run at once, in order, and none beside one that needs the whole machine', async () => {
  const { log, run } = recorder()
  await runSideBySide([aTask('a'), aTask('b'), aTask('whole', 2), aTask('c')], run)
  expect(log).toEqual(['+a', '+b', '-a', '-b', '+whole', '-whole', '+c', '-c'])
})

test('a task waits for those in its `after`; one that is not part of the run is not waited for', async () => {
  const { log, run } = recorder()
  await runSideBySide([aTask('build'), aTask('browser', 1, ['build', 'unknown'])], run)
  expect(log).toEqual(['+build', '-build', '+browser', '-browser'])
})

test('the first failure is thrown immediately, and no further task starts', async () => {
  const begun: string[] = []
  const never = new Promise<void>(() => {})
  const run = ({ name }: Task) => {
    begun.push(name)
    return name === 'bad' ? Promise.reject(new Error('broken')) : never
  }
  await expect(runSideBySide([aTask('slow'), aTask('bad'), aTask('later')], run)).rejects.toThrow('broken')
  expect(begun).toEqual(['slow', 'bad'])
})

test('for any tasks: each runs once, and never more than two cores are in use', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.record({ cores: fc.integer({ min: 1, max: 2 }), ticks: fc.nat(5) })), async (plan) => {
      let used = 0
      const tasks = plan.map(({ cores }, index) => aTask(String(index), cores, index > 0 ? [String(index - 1)] : []))
      const ran = await runSideBySide(tasks, async ({ name, cores }) => {
        used += cores
        expect(used).toBeLessThanOrEqual(2)
        for (let tick = 0; tick < (plan[Number(name)]?.ticks ?? 0); tick++) await Promise.resolve()
        used -= cores
      })
      expect(ran.map(({ name }) => name)).toEqual(tasks.map(({ name }) => name))
    })
  ))

function recorder() {
  const log: string[] = []
  const run = async ({ name }: Task) => {
    log.push(`+${name}`)
    await Promise.resolve()
    log.push(`-${name}`)
  }
  return { log, run }
}
