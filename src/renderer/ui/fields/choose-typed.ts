import type { KeyboardEvent } from 'react'

/**
 * For a searchable select: Enter chooses the option that was typed, or the only one left, and Tab the one that was
 * typed, although no arrow key marked it. False: the text is no choice yet.
 */
export function chooseTyped(event: KeyboardEvent<HTMLInputElement>): boolean {
  const { key, currentTarget: input } = event
  const text = input.value.trim()
  if ((key !== 'Enter' && key !== 'Tab') || input.readOnly || text === '') return true
  const list = document.getElementById(input.getAttribute('aria-controls') ?? '')
  const options = [...(list?.querySelectorAll<HTMLElement>('[role=option]') ?? [])]
  const isMarked = options.some((option) => option.hasAttribute('data-combobox-selected'))
  if (isMarked && key === 'Enter') return true
  const typed = findTyped(
    options.map((option) => option.textContent.trim()),
    text
  )
  const only = key === 'Enter' && options.length === 1 ? 0 : -1
  const option = options[typed === -1 ? only : typed]
  if (option === undefined) return false
  // To choose it once more would clear it.
  if (option.getAttribute('aria-selected') === 'true') return true
  // Ctrl-Enter chooses it and saves the form.
  if (key === 'Enter' && !event.ctrlKey && !event.metaKey) event.preventDefault()
  option.click()
  return true
}

/** The index of the label that is exactly this text, or this text in other letter case if only one is; else -1. */
export function findTyped(labels: readonly string[], text: string): number {
  const exact = labels.indexOf(text)
  if (exact !== -1) return exact
  const folded = labels.map((label) => label.toLowerCase())
  const at = folded.indexOf(text.toLowerCase())
  return at === folded.lastIndexOf(text.toLowerCase()) ? at : -1
}
