export function saveFile(name: string, parts: BlobPart[], type?: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts, type === undefined ? {} : { type }))
  link.download = name
  link.click()
  // Some browsers open the URL with a delay.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
