import type { KeyboardEvent } from 'react'

/**
 * For a searchable select: Enter chooses the option that was typed, or the only one left, and Tab the one that was
 * typed, although no arrow key marked it. Enter on an unfinished text does not submit the form.
 */
export function chooseTyped(event: KeyboardEvent<HTMLInputElement>): void {
  const { key, currentTarget: input } = event
  const text = input.value.trim()
  if ((key !== 'Enter' && key !== 'Tab') || event.ctrlKey || event.metaKey || input.readOnly || text === '') return
  const list = document.getElementById(input.getAttribute('aria-controls') ?? '')
  const options = [...(list?.querySelectorAll<HTMLElement>('[role=option]') ?? [])]
  const isMarked = options.some((option) => option.hasAttribute('data-combobox-selected'))
  if (list === null || (isMarked && key === 'Enter')) return
  const typed = findTyped(
    options.map((option) => option.textContent.trim()),
    text
  )
  const only = key === 'Enter' && options.length === 1 ? 0 : -1
  const option = options[typed === -1 ? only : typed]
  // To choose it once more would clear it.
  if (option?.getAttribute('aria-selected') === 'true') return
  if (key === 'Enter') event.preventDefault()
  option?.click()
}

/** The index of the label that is exactly this text, or this text in other letter case if only one is; else -1. */
export function findTyped(labels: readonly string[], text: string): number {
  const exact = labels.indexOf(text)
  if (exact !== -1) return exact
  const folded = labels.map((label) => label.toLowerCase())
  const at = folded.indexOf(text.toLowerCase())
  return at === folded.lastIndexOf(text.toLowerCase()) ? at : -1
}
