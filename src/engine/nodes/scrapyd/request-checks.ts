import { RESERVED_ARGUMENTS } from '../../../shared/reserved-arguments.ts'
import type { NodeError, ScheduleRequest } from '../node-client.ts'
import type { Connection } from './connection.ts'

// Linux refuses to start a process with an argument over 128 KiB. Scrapyd then loses the job and its slot forever.
const MAX_ARGUMENT_BYTES = 131_000
const MAX_ARGUMENTS_BYTES = 1_000_000

/** Rejects requests that would harm a Scrapyd. Throws a NodeError of kind `refused`; nothing was sent. */
export function createRequestChecks(connection: Connection) {
  return { checkName, checkSchedule }

  function refuse(problem: string): NodeError {
    return connection.fail('refused', `was not contacted: ${problem}`, 'no')
  }

  /** Scrapyd takes an empty name, `.` or a path for another directory: delproject of one deletes every egg. */
  function checkName(noun: string, value: string): void {
    if (value === '' || value === '.' || value === '..' || /[/\\\0]/.test(value) || !value.isWellFormed()) {
      throw refuse(`${JSON.stringify(value.slice(0, 100))} is not a valid ${noun} name.`)
    }
  }

  function checkSchedule(request: ScheduleRequest): void {
    checkName('project', request.project)
    checkName('spider', request.spider)
    checkName('version', request.version)
    // A jobid that is not a valid file name costs the node a slot forever (scrapyd-protocol.md, 6.4).
    checkName('job', request.jobid)
    let sizeBytes = 0
    for (const [key, value] of [...Object.entries(request.settings), ...Object.entries(request.args)]) {
      const pairBytes = Buffer.byteLength(key) + Buffer.byteLength(value) + 1
      sizeBytes += pairBytes
      if (key === '' || /[=\0]/.test(key) || value.includes('\0') || !`${key}${value}`.isWellFormed()) {
        throw refuse(`the setting or argument ${JSON.stringify(key.slice(0, 100))} cannot be passed to a process.`)
      }
      if (pairBytes > MAX_ARGUMENT_BYTES || sizeBytes > MAX_ARGUMENTS_BYTES) {
        throw refuse(`the setting or argument ${JSON.stringify(key.slice(0, 100))} is too large to pass to a process.`)
      }
    }
    const reserved = Object.keys(request.args).find((key) => RESERVED_ARGUMENTS.has(key))
    if (reserved !== undefined) throw refuse(`Scrapyd uses the argument name ${reserved} itself. Rename the argument.`)
  }
}
