import type { VersionName } from '../../../shared/contract/index.ts'
import { sanitiseVersion } from '../../../shared/ids.ts'
import { problemOfFolderName } from '../../projects/names.ts'
import { NodeError, type ScheduleRequest } from '../node-client.ts'
import { SCRAPYD_TRAITS } from '../node-traits.ts'
import { isVersion, ONE_MAX_BYTES, problemOfRun } from '../node-checks.ts'
import type { Connection } from './connection.ts'

/** Rejects requests that would harm a Scrapyd, before sending anything. Throws a NodeError of kind `refused`. */
export function createRequestChecks(connection: Connection) {
  return { checkName, checkedVersion, checkSchedule, checkSize }

  function refuse(problem: string): NodeError {
    const { message } = connection.fail('refused', `was not contacted: ${problem}`, 'no')
    return new NodeError('refused', message, { delivered: 'no', refusal: 'unrunnable' })
  }

  /** Scrapyd treats an empty name, `.` or a path as a different directory. delproject would then delete every egg. */
  function checkName(noun: string, value: string): void {
    const problem = problemOfFolderName(value)
    if (problem !== null) throw refuse(`${JSON.stringify(value.slice(0, 100))} is not a valid ${noun} name.`)
  }

  /** Returns the version name to send. A Scrapyd before 1.4.3 cannot open a stored version with a slash in its name. */
  function checkedVersion(version: VersionName): VersionName {
    if (!isVersion(version)) throw refuse(`${JSON.stringify(version.slice(0, 100))} is not a valid version name.`)
    return version.includes('/') ? (sanitiseVersion(version) as VersionName) : version
  }

  function checkSize(sizeBytes: number): void {
    if (sizeBytes > ONE_MAX_BYTES) throw refuse('its settings and arguments are too large to pass to a pod.')
  }

  function checkSchedule(request: ScheduleRequest): void {
    const problem = problemOfRun(request, SCRAPYD_TRAITS)
    if (problem !== null) throw refuse(problem)
  }
}
