import { RESERVED_ARGUMENTS } from '../../shared/reserved-arguments.ts'
import { type Message, messageOf, say } from '../../shared/texts/message.ts'
import { showUnseen } from '../../shared/unseen.ts'
import { problemOfFolderName } from '../projects/names.ts'
import type { ScheduleRequest } from './node-client.ts'
import type { NodeTraits } from './node-traits.ts'

/**
 * The maximum size of an argument or variable. Linux starts no process if one of them has 128 KiB or more, or all
 * of them have several megabytes in total.
 */
export const ONE_MAX_BYTES = 131_000
const ALL_MAX_BYTES = 1_000_000

type Run = Pick<ScheduleRequest, 'project' | 'spider'> &
  Partial<Pick<ScheduleRequest, 'version' | 'jobid' | 'settings' | 'args' | 'env'>>

/**
 * Explains why no node of this kind can ever start the run. null: a node can. This is the only definition of what nodes
 * accept. `traits` null: any kind.
 */
export function problemOfRun(run: Run, traits: Pick<NodeTraits, 'startsByCommand'> | null): Message | null {
  for (const noun of ['project', 'spider', 'jobid'] as const) {
    const problem = run[noun] === undefined ? null : problemOfFolderName(run[noun])
    // A name that is not a valid file name blocks a Scrapyd slot forever (scrapyd-protocol.md, 6.4).
    if (problem !== null) {
      return say('run_problem.name', { noun, name: quote(run[noun]!), fault: messageOf(problem) })
    }
  }
  if (run.version !== undefined && !isVersion(run.version)) {
    return say('run_problem.version', { name: quote(run.version) })
  }
  const variable = Object.entries(run.env ?? {}).find((pair) => bytesOf(pair) > ONE_MAX_BYTES)
  if (variable !== undefined) return say('run_problem.variable_large', { name: quote(variable[0]) })
  if (traits?.startsByCommand !== true) return null
  let sizeBytes = 0
  for (const pair of [...Object.entries(run.settings ?? {}), ...Object.entries(run.args ?? {})]) {
    const [key, value] = pair
    const name = quote(key)
    if (key === '' || /[=\0]/.test(key) || value.includes('\0') || !`${key}${value}`.isWellFormed()) {
      return say('run_problem.setting_unpassable', { name })
    }
    sizeBytes += bytesOf(pair)
    if (bytesOf(pair) > ONE_MAX_BYTES || sizeBytes > ALL_MAX_BYTES) return say('run_problem.setting_large', { name })
  }
  const reserved = Object.keys(run.args ?? {}).find((key) => RESERVED_ARGUMENTS.has(key))
  return reserved === undefined ? null : say('run_problem.argument_reserved', { name: reserved })
}

/** Nodes store versions under a sanitized name (shared/ids.ts), so a version can be the name of a branch. */
export function isVersion(version: string): boolean {
  return version !== '' && !version.includes('\0') && version.isWellFormed()
}

const bytesOf = ([key, value]: [string, string]) => Buffer.byteLength(key) + Buffer.byteLength(value) + 1

const quote = (name: string) => showUnseen(JSON.stringify(name.slice(0, 100)))
