/** Whether a job that ended while queued may be put back: by itself, or with the one that it was skipped for. */
export type Restorable = 'never' | 'by_itself' | 'with_what_it_waited_for'

/** `isAsked`: somebody named this very job; otherwise one that it waited for is put back. */
export function mayBeRestored(restorable: Restorable, isAsked: boolean): boolean {
  return restorable === 'with_what_it_waited_for' || (restorable === 'by_itself' && isAsked)
}
