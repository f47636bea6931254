/** Whether a job that ended while queued can be restored: never, on its own, or only with the job it waited for. */
export type Restorable = 'never' | 'by_itself' | 'with_what_it_waited_for'

/** `isAsked`: the user named the job itself; false: a job that it depends on is being restored. */
export function mayBeRestored(restorable: Restorable, isAsked: boolean): boolean {
  return restorable === 'with_what_it_waited_for' || (restorable === 'by_itself' && isAsked)
}
