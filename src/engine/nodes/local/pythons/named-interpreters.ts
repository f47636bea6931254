import { createHash } from 'node:crypto'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { checkPython, type Finding, isNewEnough, OLDEST_PYTHON } from './check-python.ts'
import { absoluteUnlessBare } from './python-environment.ts'

/** A Python that a project names by its path. It belongs to the operator, so we never change it. */
export interface Interpreter {
  id: string
  command: string
  /** null: the check is running. */
  finding: Finding | null
  check: Promise<Finding>
}

/** The interpreters that projects name. Checks each one once, and again when `check` is called. */
export class NamedInterpreters {
  readonly #options: { directory: string; isolation?: Isolation; clock: Clock; onChange: () => void }
  readonly #byId = new Map<string, Interpreter>()

  constructor(options: { directory: string; isolation?: Isolation; clock: Clock; onChange: () => void }) {
    this.#options = options
  }

  of(command: string): Interpreter {
    return this.#byId.get(interpreterId(command)) ?? this.check(command)
  }

  check(command: string): Interpreter {
    const { directory, isolation, clock, onChange } = this.#options
    const id = interpreterId(command)
    const check = checkPython(absoluteUnlessBare(command), {
      directory,
      clock,
      isolation: isolation && { isolation, name: `python/${id}` }
    })
    const interpreter: Interpreter = { id, command, finding: null, check }
    this.#byId.set(interpreter.id, interpreter)
    void check.then((finding) => {
      interpreter.finding = finding
      onChange()
    })
    onChange()
    return interpreter
  }

  find(id: string): Interpreter | undefined {
    return this.#byId.get(id)
  }

  forget(id: string): void {
    this.#byId.delete(id)
  }

  list(): Interpreter[] {
    return [...this.#byId.values()]
  }
}

export function problemOfInterpreter(command: string, finding: Finding): Message | null {
  const { path, version, scrapyVersion, failure } = finding
  const oldest = OLDEST_PYTHON
  if (version === null) return say('python.not_usable', { command, oldest, why: failure ?? '' })
  if (!isNewEnough(finding)) return say('python.old', { command, version, oldest })
  if (scrapyVersion !== null) return null
  if (failure === null) return say('python.no_scrapy', { command, version, path })
  return say('python.scrapy_broken', { command, version, path, why: failure })
}

export function interpreterId(command: string): string {
  return `interpreter-${createHash('sha256').update(absoluteUnlessBare(command)).digest('hex').slice(0, 12)}`
}
