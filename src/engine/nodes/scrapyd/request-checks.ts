import type { VersionName } from '../../../shared/contract/index.ts'
import { sanitiseVersion } from '../../../shared/ids.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import { problemOfFolderName } from '../../projects/names.ts'
import { NodeError, type ScheduleRequest } from '../node-client.ts'
import { SCRAPYD_TRAITS } from '../node-traits.ts'
import { isVersion, ONE_MAX_BYTES, problemOfRun } from '../node-checks.ts'
import type { Connection } from './connection.ts'

/** Rejects requests that would harm a Scrapyd, before anything is sent. Throws a NodeError of kind `refused`. */
export function createRequestChecks({ label }: Pick<Connection, 'label'>) {
  return { checkName, checkedVersion, checkSchedule, checkSize }

  function refuse(said: Message): NodeError {
    return new NodeError('refused', said, { delivered: 'no', refusal: 'unrunnable' })
  }

  function refuseName(noun: string, name: string): NodeError {
    return refuse(say('node_error.invalid_name', { label, name: name.slice(0, 100), noun }))
  }

  /** Scrapyd treats an empty name, `.` or a path as a different directory. delproject would then delete every egg. */
  function checkName(noun: string, value: string): void {
    const problem = problemOfFolderName(value)
    if (problem !== null) throw refuseName(noun, value)
  }

  /** Returns the version name to send. A Scrapyd before 1.4.3 cannot open a stored version with a slash in its name. */
  function checkedVersion(version: VersionName): VersionName {
    if (!isVersion(version)) throw refuseName('version', version)
    return version.includes('/') ? (sanitiseVersion(version) as VersionName) : version
  }

  function checkSize(sizeBytes: number): void {
    if (sizeBytes > ONE_MAX_BYTES) throw refuse(say('node_error.too_large_for_pod', { label }))
  }

  function checkSchedule(request: ScheduleRequest): void {
    const problem = problemOfRun(request, SCRAPYD_TRAITS)
    if (problem !== null) throw refuse(say('node_error.not_contacted', { label, why: problem }))
  }
}
