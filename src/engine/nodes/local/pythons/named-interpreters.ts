import { createHash } from 'node:crypto'
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

export function problemOfInterpreter(command: string, finding: Finding): string | null {
  const { path, version, scrapyVersion, failure } = finding
  if (version === null)
    return `${command} cannot be used as Python (${failure}). Specify Python ${OLDEST_PYTHON} or newer.`
  if (!isNewEnough(finding)) return `${command} is Python ${version}. Specify Python ${OLDEST_PYTHON} or newer.`
  if (scrapyVersion !== null) return null
  const install = `Install it there (${path} -m pip install Scrapy), or give the project requirements instead.`
  if (failure === null) return `${command} is Python ${version} without Scrapy. ${install}`
  return `${command} is Python ${version}, but its Scrapy cannot be imported (${failure}). ${install}`
}

export function interpreterId(command: string): string {
  return `interpreter-${createHash('sha256').update(absoluteUnlessBare(command)).digest('hex').slice(0, 12)}`
}
