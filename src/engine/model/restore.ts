/** Whether a job that ended while queued may be restored: on its own, or only with the job it was skipped for. */
export type Restorable = 'never' | 'by_itself' | 'with_what_it_waited_for'

/** `isAsked`: the job itself was named; false: a job that it depends on is being restored. */
export function mayBeRestored(restorable: Restorable, isAsked: boolean): boolean {
  return restorable === 'with_what_it_waited_for' || (restorable === 'by_itself' && isAsked)
}
