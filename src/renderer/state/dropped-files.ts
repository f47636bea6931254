import { create } from 'zustand'

interface DroppedFiles {
  files: readonly File[]
}

/** Files dropped anywhere in the window, waiting for the projects screen to take them. */
export const useDroppedFiles = create<DroppedFiles>(() => ({ files: [] }))

export const offerFiles = (files: readonly File[]) => useDroppedFiles.setState({ files })

/** The waiting files, once. */
export function takeFiles(): readonly File[] {
  const { files } = useDroppedFiles.getState()
  if (files.length > 0) useDroppedFiles.setState({ files: [] })
  return files
}
