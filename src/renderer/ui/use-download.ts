import { useEffect, useRef, useState } from 'react'
import { notifyDone, notifyError } from './notify.tsx'

/** Runs one download at a time. Unmounting aborts it. `progress` is null while none is running. */
export function useDownload(failure: string) {
  const [progress, setProgress] = useState<number | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  /** `work` resolves to the result, in words. */
  const start = async (work: (signal: AbortSignal, onProgress: (progress: number) => void) => Promise<string>) => {
    const controller = new AbortController()
    running.current = controller
    setProgress(0)
    try {
      notifyDone(await work(controller.signal, setProgress))
    } catch (error) {
      if (!controller.signal.aborted) notifyError(failure, error)
    } finally {
      setProgress(null)
    }
  }
  return { progress, start, cancel: () => running.current?.abort() }
}
