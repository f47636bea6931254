import { implement } from '@orpc/server'
import { contract, type Environment, type ProjectName, type ProjectSettings } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { plain, say, written } from '../../shared/texts/message.ts'
import { BUILD_LOG, COLD, WARM } from './fake-local-node.ts'
import { fail, type FakeWorld, wait } from './fake-world.ts'

export function createFakeEnvironments({ environments, emit, stepMs }: FakeWorld) {
  const os = implement(contract)
  const saveEnvironment = (environment: Environment): Environment => {
    environments.set(environment.id, environment)
    emit({ kind: 'environments', environments: [...environments.values()] })
    return environment
  }
  const environmentOf = (id: string): Environment =>
    environments.get(id) ??
    fail(new ScrapdeckError('NOT_FOUND', `There is no environment ${id}. It may have been removed.`))

  async function build(id: string): Promise<void> {
    const steps = [say('build.started', { version: '3.13.2' }), plain('Collecting scrapy'), say('build.finishing')]
    for (const [index, step] of steps.entries()) {
      const environment = environments.get(id)
      if (!environment) return
      const progress = { ...written(step), share: index / steps.length }
      saveEnvironment({ ...environment, state: 'building', progress, problem: null, hasLog: true })
      await wait(stepMs)
    }
    saveEnvironment({
      ...environmentOf(id),
      state: 'ready',
      path: `environments/${id}/bin/python`,
      version: '3.13.2',
      scrapyVersion: '2.13.3',
      start: WARM,
      progress: null,
      madeAtMs: Date.now()
    })
  }

  /** Finds or creates the environment for a project's Python. */
  function environmentFor(project: ProjectName, { python: wanted }: ProjectSettings): void {
    for (const environment of environments.values()) {
      const projectsThere = environment.projects.filter((name) => name !== project)
      environments.set(environment.id, { ...environment, projects: projectsThere })
    }
    const id = wanted.kind === 'default' ? 'main' : `${wanted.kind}-${project}`
    const before = environments.get(id)
    saveEnvironment(
      before
        ? { ...before, projects: [...before.projects, project] }
        : {
            id,
            kind: wanted.kind === 'default' ? 'main' : wanted.kind,
            state: wanted.kind === 'requirements' ? 'building' : 'ready',
            path: wanted.kind === 'interpreter' ? wanted.path : null,
            version: wanted.kind === 'interpreter' ? '3.12.8' : null,
            scrapyVersion: wanted.kind === 'interpreter' ? '2.12.0' : null,
            projects: [project],
            start: COLD,
            problem: null,
            progress: null,
            hasLog: wanted.kind === 'requirements',
            madeAtMs: null
          }
    )
    if (wanted.kind === 'requirements') void build(id)
  }

  return {
    environmentFor,
    environments: {
      list: os.environments.list.handler(() => ({ environments: [...environments.values()] })),
      log: os.environments.log.handler(async function* ({ input, signal }) {
        const { state, problem } = environmentOf(input.id)
        if (state !== 'building') {
          yield { text: BUILD_LOG + (problem === null ? '' : `ERROR: ${problem}\n`) }
          return
        }
        for (const line of BUILD_LOG.split(/(?<=\n)/)) {
          if (signal?.aborted) return
          yield { text: line }
          await wait(stepMs / 5)
        }
      }),
      rebuild: os.environments.rebuild.handler(({ input }) => {
        const environment = environmentOf(input.id)
        void build(input.id)
        return environment
      }),
      remove: os.environments.remove.handler(({ input }) => {
        const { projects: users } = environmentOf(input.id)
        if (users.length > 0) throw new ScrapdeckError('BAD_INPUT', `${input.id} is used by ${users.join(', ')}.`)
        environments.delete(input.id)
        emit({ kind: 'environments', environments: [...environments.values()] })
        return { removed: input.id }
      })
    }
  }
}
