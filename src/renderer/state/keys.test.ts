import { cleanup, renderHook } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { EVERYWHERE, HoldKeys, listenForKeys, useKeys } from './keys.ts'

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

it('keeps keys that are typed while a screen loads for that screen, and types on where one of them leads', async () => {
  const stop = listenForKeys()
  const box = document.body.appendChild(document.createElement('input'))
  const [early, own, typed] = [vi.fn(), vi.fn(() => box.focus()), vi.fn()]
  box.addEventListener('input', typed)
  renderHook(() => useKeys(EVERYWHERE, [{ key: '6', label: 'Projects', run: early }]))
  const loading = renderHook(() => HoldKeys())
  for (const key of ['/', 'a', ':', '6'])
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
  expect(early).not.toHaveBeenCalled()
  renderHook(() => useKeys('Jobs', [{ key: '/', label: 'Filter', run: own }]))
  loading.unmount()
  await vi.waitFor(() => expect(box.value).toBe('a:6'))
  expect([own, early, typed].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 3])
  box.remove()
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
