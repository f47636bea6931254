import type { RefObject } from 'react'

interface FilePickerProps {
  label: string
  /** Default: picks a whole folder. */
  accept?: string
  multiple?: boolean
  onFiles: (files: readonly File[]) => void
  inputRef: RefObject<HTMLInputElement | null>
}

/** Allows picking the same files again. */
export function FilePicker({ label, accept, multiple = false, onFiles, inputRef }: FilePickerProps) {
  return (
    <input
      ref={(element) => {
        // React does not know this attribute, but every supported browser does.
        if (accept === undefined) element?.setAttribute('webkitdirectory', '')
        inputRef.current = element
      }}
      type="file"
      hidden
      multiple={multiple}
      accept={accept}
      aria-label={label}
      onChange={(event) => {
        onFiles([...(event.target.files ?? [])])
        event.target.value = ''
      }}
    />
  )
}
