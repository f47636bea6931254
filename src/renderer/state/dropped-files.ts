import { useEffect } from 'react'
import { create } from 'zustand'

/** Who takes files instead of the projects screen, and what is said while they hang over the window. */
interface DropTaker {
  title: string
  text: string
  take: (files: readonly File[]) => void
}

interface DroppedFiles {
  files: readonly File[]
  taker: DropTaker | null
}

/** Files dropped anywhere in the window, waiting for the projects screen to take them. */
export const useDroppedFiles = create<DroppedFiles>(() => ({ files: [], taker: null }))

export const offerFiles = (files: readonly File[]) => useDroppedFiles.setState({ files })

/** The waiting files, once. */
export function claimFiles(): readonly File[] {
  const { files } = useDroppedFiles.getState()
  if (files.length > 0) useDroppedFiles.setState({ files: [] })
  return files
}

/** While the component is there, what is dropped goes to it. `take` must stay the same function. */
export function useDropTaker(title: string, text: string, take: DropTaker['take']): void {
  useEffect(() => {
    useDroppedFiles.setState({ taker: { title, text, take } })
    return () => useDroppedFiles.setState({ taker: null })
  }, [title, text, take])
}
