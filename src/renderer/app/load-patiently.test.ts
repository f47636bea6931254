import { expect, it, vi } from 'vitest'
import { loadAhead, loadPatiently } from './load-patiently.ts'

it('retries until the part loads, and never rejects', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const load = vi.fn<() => Promise<string>>()
  load.mockRejectedValueOnce(new Error('Failed to fetch')).mockResolvedValue('screen')
  expect(await loadPatiently(load, 1)()).toBe('screen')
  expect(load).toHaveBeenCalledTimes(2)
  warn.mockRestore()
})

it('preloads every part', async () => {
  const load = vi.fn(async () => 'dialog')
  loadPatiently(load)
  await loadAhead()
  expect(load).toHaveBeenCalled()
})

it.each([
  { saveData: true, effectiveType: '4g' },
  { saveData: false, effectiveType: '3g' }
])('preloads nothing over a connection that is costly or slow: %o', async (connection) => {
  vi.stubGlobal('navigator', { connection })
  const load = vi.fn(async () => 'dialog')
  loadPatiently(load)
  await loadAhead()
  expect(load).not.toHaveBeenCalled()
  vi.unstubAllGlobals()
})
