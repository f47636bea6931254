import { cleanup, renderHook } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { listenForKeys, useKeys } from './keys.ts'

afterEach(cleanup)

it('ignores the Esc that closed a dialog, so that what is below it stays open', () => {
  const stop = listenForKeys()
  const close = vi.fn()
  renderHook(() => useKeys('Screen', [{ key: 'Escape', label: 'Close the detail', run: close }]))
  const dialog = document.body.appendChild(document.createElement('div'))
  dialog.setAttribute('role', 'dialog')
  dialog.setAttribute('aria-modal', 'true')
  // Like Mantine, which handles the key first, so the dialog is gone when our handler runs.
  const closeDialog = () => dialog.remove()
  window.addEventListener('keydown', closeDialog, true)
  const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
  press()
  expect(close).not.toHaveBeenCalled()
  press()
  expect(close).toHaveBeenCalledOnce()
  window.removeEventListener('keydown', closeDialog, true)
  stop()
})

it('leaves all keys to an open menu', () => {
  const stop = listenForKeys()
  const run = vi.fn()
  renderHook(() => useKeys('Screen', [{ key: 'j', label: 'Next', run }]))
  const menu = document.body.appendChild(document.createElement('div'))
  menu.setAttribute('role', 'menu')
  const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
  press()
  expect(run).not.toHaveBeenCalled()
  menu.remove()
  press()
  expect(run).toHaveBeenCalledOnce()
  stop()
})
