import { notifyDone, notifyError } from './notify.tsx'

/** Copies a text, and says so with these words. */
export const copyText = (text: string, done: string): void =>
  void navigator.clipboard.writeText(text).then(
    () => notifyDone(`${done}.`),
    (error: unknown) => notifyError('Could not copy', error)
  )

/** Copies a log, or the selected part of it, and says so. */
export const copyLog = (text: string): void =>
  void navigator.clipboard.writeText(text).then(
    () => notifyDone('Log copied.'),
    (error: unknown) => notifyError('Could not copy the log', error)
  )
