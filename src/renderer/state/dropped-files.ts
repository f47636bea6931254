import { useEffect } from 'react'
import { create } from 'zustand'

/**
 * Takes dropped files that would otherwise go to the projects screen. While files are dragged over the window, the
 * window shows `title` and `text`.
 */
interface DropTarget {
  title: string
  text: string
  onFiles: (files: readonly File[]) => void
}

interface DroppedFiles {
  /** Files dropped anywhere in the window, until the projects screen takes them. */
  files: readonly File[]
  target: DropTarget | null
}

export const useDroppedFiles = create<DroppedFiles>(() => ({ files: [], target: null }))

export const offerFiles = (files: readonly File[]) => useDroppedFiles.setState({ files })

export function claimFiles(): readonly File[] {
  const { files } = useDroppedFiles.getState()
  if (files.length > 0) useDroppedFiles.setState({ files: [] })
  return files
}

/** Sends dropped files to the component while it is mounted. `onFiles` must be a stable reference. */
export function useDropTarget(title: string, text: string, onFiles: DropTarget['onFiles']): void {
  useEffect(() => {
    useDroppedFiles.setState({ target: { title, text, onFiles } })
    return () => useDroppedFiles.setState({ target: null })
  }, [title, text, onFiles])
}
