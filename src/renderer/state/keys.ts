import { useEffect, useRef } from 'react'
import { create } from 'zustand'
import { keyInMenuMessage } from '../../shared/wire.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

export interface KeyBinding {
  /** As in `KeyboardEvent.key`: `j`, `X` (with Shift), `Escape`. Prefixes: `mod+` for Ctrl or Cmd, `Alt+` for Alt. */
  key: string
  label: string
  run: (event: KeyboardEvent) => void
}

interface KeysState {
  groups: readonly { id: number; title: string; bindings: readonly KeyBinding[] }[]
}

export const useKeyGroups = create<KeysState>(() => ({ groups: [] }))

/** The frame's group. Keys of a screen take precedence over it. */
export const EVERYWHERE = texts.everywhereKeys

let nextId = 1

/** Activates keys while the component is mounted and `enabled`. Later groups take precedence over earlier ones. */
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

/** Matches dialogs and menus. These have their own keys, and Esc closes only them. */
const OVER_THE_SCREEN = '[role="dialog"], [role="menu"]'

/** Keys typed while their screen is loading. null: no screen is loading. */
let held: { event: KeyboardEvent; atMs: number }[] | null = null
let holders = 0
const HELD_MAX_MS = 5_000
const HELD_MAX = 50

/** Holds keys back while a screen or dialog is loading, so that they do not reach the previous screen. */
export function HoldKeys(): null {
  useEffect(() => {
    holders += 1
    held ??= []
    return () => {
      holders -= 1
      // The old screen's clean-up runs before the new screen's effects, so wait for both.
      setTimeout(replayNext, 0)
    }
  }, [])
  return null
}

/** Replays one key at a time, because each can open another screen that holds back the following keys. */
function replayNext(): void {
  if (holders > 0 || held === null) return
  const next = held.shift()
  if (next === undefined) held = null
  else {
    if (Date.now() - next.atMs < HELD_MAX_MS) replay(next.event)
    setTimeout(replayNext, 0)
  }
}

function replay(event: KeyboardEvent): void {
  const at = document.activeElement
  if (at instanceof HTMLInputElement && isTyping(at)) {
    if (event.key.length > 1) at.dispatchEvent(new KeyboardEvent('keydown', { key: event.key, bubbles: true }))
    else {
      // React ignores a value that is assigned directly, so this calls the native setter.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(at, at.value + event.key)
      at.dispatchEvent(new Event('input', { bubbles: true }))
    }
  } else if (document.querySelector(OVER_THE_SCREEN) === null) runBinding(event)
}

/** The only key listener. It ignores letters while a field has the focus or a dialog or menu is open. */
export function listenForKeys(): () => void {
  // Checked before any other handler: the Esc that closes a dialog or menu must not also close what is below it.
  let isDialogOpen = false
  const onKeyDownFirst = () => {
    isDialogOpen = document.querySelector(OVER_THE_SCREEN) !== null
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const mod = event.ctrlKey || event.metaKey
    // On many keyboards, Ctrl and Alt together type a character (AltGr).
    if (mod && event.altKey) return
    if (!mod && (isDialogOpen || isTyping(event.target))) return
    // Only keys that a screen can bind are held back: F5 and Tab keep working.
    const isForScreen = event.key.length === 1 || /^(Enter|Escape|Backspace|Arrow)/.test(event.key)
    if (held === null || mod || !isForScreen || keepsEnter(event)) return runBinding(event)
    event.preventDefault()
    if (held.length < HELD_MAX) held.push({ event, atMs: Date.now() })
  }
  // A click or navigation discards the held keys: a held Esc must not close what either of them opens.
  const dropHeld = () => held?.splice(0)
  window.addEventListener('keydown', onKeyDownFirst, true)
  window.addEventListener('pointerdown', dropHeld, true)
  window.addEventListener('popstate', dropHeld)
  document.addEventListener('keydown', onKeyDown)
  return () => {
    window.removeEventListener('keydown', onKeyDownFirst, true)
    window.removeEventListener('pointerdown', dropHeld, true)
    window.removeEventListener('popstate', dropHeld)
    document.removeEventListener('keydown', onKeyDown)
  }
}

/** Runs the frame's binding of a key when the user chooses it in the desktop's menu. */
export function listenForMenu(): void {
  window.addEventListener('message', ({ source, data }) => {
    const key = source === window ? keyInMenuMessage(data) : null
    if (key === null || document.querySelector(OVER_THE_SCREEN) !== null) return
    const { groups } = useKeyGroups.getState()
    const bindings = groups.filter(({ title }) => title === EVERYWHERE).flatMap((group) => group.bindings)
    bindings.find((binding) => binding.key === key)?.run(new KeyboardEvent('keydown', { key }))
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input:not([type=checkbox]), textarea, select, [contenteditable=true]') !== null
  )
}

/** Whether the focused element, such as a button or link, handles Enter itself. */
const keepsEnter = ({ key, target }: KeyboardEvent) =>
  key === 'Enter' && target instanceof Element && target.closest('a, button, summary') !== null

function runBinding(event: KeyboardEvent): void {
  const mod = event.ctrlKey || event.metaKey
  const name = mod ? `mod+${event.key.toLowerCase()}` : event.altKey ? `Alt+${event.key}` : event.key
  for (const { bindings } of useKeyGroups.getState().groups.toReversed()) {
    const binding = bindings.find(({ key }) => key === name)
    if (!binding) continue
    if (!mod && keepsEnter(event)) return
    event.preventDefault()
    binding.run(event)
    return
  }
}
