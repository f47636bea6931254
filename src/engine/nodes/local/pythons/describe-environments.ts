import type { Environment, ProjectName, StartMode } from '../../../../shared/contract/index.ts'
import { asParam, type Message, problemOf, say, writtenIfAny, written } from '../../../../shared/texts/message.ts'
import type { Made } from './made-environments.ts'
import { type Interpreter, problemOfInterpreter } from './named-interpreters.ts'
import { COLD, type PythonEnvironment } from './python-environment.ts'

type StartOf = (path: string) => StartMode

export function describeMain(main: PythonEnvironment, projects: ProjectName[]): Environment {
  const now = main.state()
  const { state, path, version, scrapyVersion, start } = now
  const progress = main.own.progress()
  const isOwn = path !== null && path === main.own.current()?.path
  return {
    id: 'main',
    kind: 'main',
    state: progress !== null || state === 'checking' ? 'building' : state === 'ready' ? 'ready' : 'failed',
    path,
    version,
    scrapyVersion,
    projects,
    start,
    ...writtenIfAny('problem', (state === 'ready' ? null : main.own.failure()) ?? problemOf(now)),
    progress: progress ?? (state === 'checking' ? { ...written(say('build.looking')), share: null } : null),
    hasLog: main.own.hasLog(),
    madeAtMs: isOwn ? main.own.current()!.madeAtMs : null
  }
}

export function describeInterpreter(
  { id, command, finding }: Interpreter,
  projects: ProjectName[],
  startOf: StartOf
): Environment {
  const problem = finding === null ? null : problemOfInterpreter(command, finding)
  return {
    id,
    kind: 'interpreter',
    state: finding === null ? 'building' : problem === null ? 'ready' : 'failed',
    path: finding?.path ?? command,
    version: finding?.version ?? null,
    scrapyVersion: finding?.scrapyVersion ?? null,
    projects,
    start: finding === null ? COLD : startOf(finding.path),
    ...writtenIfAny('problem', problem),
    progress: finding === null ? { ...written(say('build.checking', { command })), share: null } : null,
    hasLog: false,
    madeAtMs: null
  }
}

export function describeMade(one: Made, projects: ProjectName[], startOf: StartOf): Environment {
  const current = one.environment.current()
  const failure = one.environment.failure()
  const isMaking = one.work !== null
  return {
    id: one.id,
    kind: 'requirements',
    state: isMaking ? 'building' : failure === null && current !== null ? 'ready' : 'failed',
    path: current?.path ?? null,
    version: current?.version ?? null,
    scrapyVersion: current?.scrapyVersion ?? null,
    projects,
    start: current === null ? COLD : startOf(current.path),
    ...writtenIfAny('problem', isMaking ? null : problemOfMade(failure, current !== null)),
    progress: isMaking ? progressOf(one) : null,
    hasLog: one.environment.hasLog(),
    madeAtMs: current?.madeAtMs ?? null
  }
}

export function progressOf(one: Made) {
  return one.environment.progress() ?? { ...written(say('build.finishing')), share: 1 }
}

function problemOfMade(failure: Message | null, isServing: boolean): Message | null {
  if (failure === null) return isServing ? null : say('build.unfinished')
  return say('build.failed', { why: asParam(failure), isServing })
}
