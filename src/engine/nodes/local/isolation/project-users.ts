import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writeWhole } from '../runs/run-directory.ts'
import type { UserRange } from '../../../runtime/isolation-settings.ts'
import { readSettingsFile } from '../../../runtime/regular-file.ts'

const FILE = 'users.json'
const Users = z.record(z.string(), z.number().int().positive())

/** The user id of each project. Never reused, even after a project was deleted, because its files may remain. */
export class ProjectUsers {
  readonly #directory: string
  readonly #range: UserRange
  readonly #ids: Map<string, number>
  #written: Promise<void> = Promise.resolve()

  private constructor(directory: string, range: UserRange, ids: Map<string, number>) {
    this.#directory = directory
    this.#range = range
    this.#ids = ids
  }

  /** Throws if the file is unreadable. Otherwise a project could get another project's id. */
  static open(directory: string, range: UserRange): ProjectUsers {
    const text = readSettingsFile(join(directory, FILE))
    return new ProjectUsers(
      directory,
      range,
      new Map(Object.entries(text === null ? {} : Users.parse(JSON.parse(text))))
    )
  }

  get group(): number {
    return this.#range.first
  }

  /** Returns the id of a project or of an environment's build. Resolves when the id is on disk. */
  async of(name: string): Promise<number> {
    const known = this.#ids.get(name)
    if (known !== undefined) {
      await this.#written
      return known
    }
    const id = nextUser(this.#range, [...this.#ids.values()])
    if (id === null) {
      throw new Error(
        `All user ids of spider_users (${this.#range.first}-${this.#range.last}) are given to projects. Make the range larger, and keep its start`
      )
    }
    this.#ids.set(name, id)
    this.#written = this.#written.then(() => writeWhole(this.#directory, FILE, Object.fromEntries(this.#ids)))
    await this.#written
    return id
  }
}

/** The lowest id above all ids in use. null: none is left. */
export function nextUser({ first, last }: UserRange, given: readonly number[]): number | null {
  const next = Math.max(first, ...given.filter((id) => id <= last)) + 1
  return next > last ? null : next
}

export function findUserOfRange({ first, last }: UserRange): string | null {
  for (const file of ['/etc/passwd', '/etc/group']) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const [name, , id] = line.split(':')
      if (id !== undefined && Number(id) >= first && Number(id) <= last) return `${name} (${id} in ${file})`
    }
  }
  return null
}
