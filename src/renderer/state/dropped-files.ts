import { useEffect } from 'react'
import { create } from 'zustand'

/** Where dropped files go instead of the projects screen, and the text shown while they are dragged over the window. */
interface DropTarget {
  title: string
  text: string
  onFiles: (files: readonly File[]) => void
}

interface DroppedFiles {
  /** Files dropped anywhere in the window, for the projects screen. */
  files: readonly File[]
  target: DropTarget | null
}

export const useDroppedFiles = create<DroppedFiles>(() => ({ files: [], target: null }))

export const offerFiles = (files: readonly File[]) => useDroppedFiles.setState({ files })

/** Returns the waiting files once. */
export function claimFiles(): readonly File[] {
  const { files } = useDroppedFiles.getState()
  if (files.length > 0) useDroppedFiles.setState({ files: [] })
  return files
}

/** Sends dropped files to the component while it is mounted. `onFiles` must stay the same function. */
export function useDropTarget(title: string, text: string, onFiles: DropTarget['onFiles']): void {
  useEffect(() => {
    useDroppedFiles.setState({ target: { title, text, onFiles } })
    return () => useDroppedFiles.setState({ target: null })
  }, [title, text, onFiles])
}
