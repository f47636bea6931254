import { implement } from '@orpc/server'
import { plain, say, written } from '../../shared/texts/message.ts'
import { contract, type SystemStatus } from '../../shared/contract/index.ts'
import { aNodeId, aProjectName } from '../../shared/testing/ids.ts'
import { seededRandom } from './fake-fleet.ts'
import { WARM } from './fake-local-node.ts'
import { type FakeWorld, wait } from './fake-world.ts'

export function createFakeSystem(world: FakeWorld) {
  const { emit, figures, problems, addVersion, queueJob, save } = world
  const os = implement(contract)
  const status = (): SystemStatus => ({
    scrapdeckVersion: '0.1.0',
    startedAtMs: world.startedAtMs - 7_200_000,
    address: 'http://127.0.0.1:6800',
    host: 'service',
    secrets: {
      store: 'file',
      text: 'Node passwords are encrypted with a key in the data directory, readable by your user only. This machine offers no keychain.'
    },
    figures: figures(),
    problems: problems(),
    python: world.python
  })

  return {
    status: os.system.status.handler(status),
    history: os.system.history.handler(() => {
      const now = figures()
      const wave = seededRandom(3)
      return {
        samples: world.firstRun
          ? []
          : Array.from({ length: 90 }, (_, index) => ({
              ...now,
              sampledAtMs: now.sampledAtMs - (90 - index) * 10_000,
              slotsUsed: Math.round(now.slotsUsed * (0.7 + index / 300) + wave() * 6),
              queued: Math.round(now.queued * (0.8 + 0.3 * Math.sin(index / 9)) + wave() * 6),
              finishedLastHour: Math.round(now.finishedLastHour * (0.9 + index / 900) + wave() * 300),
              failedLastHour: Math.round(now.failedLastHour * (0.9 + 0.5 * Math.cos(index / 14)) + wave() * 2)
            }))
      }
    }),
    logOutEverywhere: os.system.logOutEverywhere.handler(() => ({ ended: 0 })),
    setPaused: os.system.setPaused.handler(({ input }) => {
      world.paused = input.paused
      emit({ kind: 'figures', figures: figures() }, { kind: 'problems', problems: problems() })
      return { paused: world.paused }
    }),
    runDemo: os.system.runDemo.handler(() => {
      addVersion('demo', '20261121T010000', 4211)
      const job = queueJob({ project: aProjectName('demo'), spider: 'quotes', source: 'demo' })
      return {
        job: save({
          ...job,
          state: 'running',
          status: 'running',
          waiting: null,
          nodeId: aNodeId('local'),
          attemptCount: 1,
          startedAtMs: Date.now()
        })
      }
    }),
    createEnvironment: os.system.createEnvironment.handler(async function* () {
      const steps = [say('build.choosing'), say('build.started', { version: '3.13.2' }), plain('Collecting scrapy')]
      for (const [index, step] of steps.entries()) {
        yield { ...written(step), done: false, share: index / steps.length }
        await wait(world.stepMs)
      }
      world.python = {
        state: 'ready',
        path: '.venv/bin/python',
        version: '3.13.2',
        scrapyVersion: '2.13.3',
        start: WARM,
        problem: null
      }
      emit({ kind: 'python', python: world.python }, { kind: 'problems', problems: problems() })
      yield { ...written(say('build.ready')), done: true, share: 1 }
    })
  }
}
