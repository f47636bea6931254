import { notifyDone, notifyError } from './notify.tsx'

/** Copies a log, or the selected part of it, and says so. */
export const copyLog = (text: string): void =>
  void navigator.clipboard.writeText(text).then(
    () => notifyDone('Log copied.'),
    (error: unknown) => notifyError('Could not copy the log', error)
  )
