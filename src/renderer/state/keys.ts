import { useEffect, useRef } from 'react'
import { create } from 'zustand'

/** One key and what it does, in words: the `?` overlay lists all active ones. */
export interface KeyBinding {
  /** As in `KeyboardEvent.key`: `j`, `X` (with Shift), `/`, `Escape`; with `mod+` for Ctrl or Cmd, `Alt+` for Alt. */
  key: string
  /** For the overlay: `Open the job`. */
  label: string
  run: (event: KeyboardEvent) => void
}

interface KeysState {
  groups: readonly { id: number; title: string; bindings: readonly KeyBinding[] }[]
}

export const useKeyGroups = create<KeysState>(() => ({ groups: [] }))

/** The frame's group: any key of a screen takes precedence over it. */
export const EVERYWHERE = 'Everywhere'

let nextId = 1

/** Activates keys while the component is mounted (and `enabled`). Later groups take precedence over earlier ones. */
export function useKeys(title: string, bindings: readonly KeyBinding[], enabled = true): void {
  const newest = useRef(bindings)
  newest.current = bindings
  const names = bindings.map((binding) => `${binding.key} ${binding.label}`).join('\n')
  useEffect(() => {
    if (!enabled) return
    const id = nextId++
    const live = newest.current.map(({ key, label }, index) => ({
      key,
      label,
      run: (event: KeyboardEvent) => newest.current[index]?.run(event)
    }))
    const group = { id, title, bindings: live }
    useKeyGroups.setState(({ groups }) => ({ groups: title === EVERYWHERE ? [group, ...groups] : [...groups, group] }))
    return () => useKeyGroups.setState(({ groups }) => ({ groups: groups.filter((group) => group.id !== id) }))
  }, [title, names, enabled])
}

/** Dialogs and menus: they have their own keys, and Esc closes only them. */
const OVER_THE_SCREEN = '[role="dialog"], [role="menu"]'

/** The only listener. Letters do nothing while a field has the focus, or a dialog or menu is open. */
export function listenForKeys(): () => void {
  // Checked before any other handler runs: the Esc that closes a dialog or a menu must not also close what is below it.
  let isDialogOpen = false
  const onKeyDownFirst = () => {
    isDialogOpen = document.querySelector(OVER_THE_SCREEN) !== null
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const mod = event.ctrlKey || event.metaKey
    // On many keyboards both together type a character (AltGr).
    if (mod && event.altKey) return
    const name = mod ? `mod+${event.key.toLowerCase()}` : event.altKey ? `Alt+${event.key}` : event.key
    if (!mod && (isDialogOpen || isTyping(event.target))) return
    const { groups } = useKeyGroups.getState()
    for (const group of [...groups].reverse()) {
      const binding = group.bindings.find(({ key }) => key === name)
      if (!binding) continue
      // A focused button or link keeps its own Enter.
      if (name === 'Enter' && event.target instanceof Element && event.target.closest('a, button, summary')) return
      event.preventDefault()
      binding.run(event)
      return
    }
  }
  window.addEventListener('keydown', onKeyDownFirst, true)
  document.addEventListener('keydown', onKeyDown)
  return () => {
    window.removeEventListener('keydown', onKeyDownFirst, true)
    document.removeEventListener('keydown', onKeyDown)
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input:not([type=checkbox]), textarea, select, [contenteditable=true]') !== null
  )
}
