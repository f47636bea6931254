import { cleanup } from '@testing-library/react'
import { afterEach, vi } from 'vitest'
import { endingEngines } from './ending-engines.ts'
import './test-speed.ts'

// Test files share a page and its modules (vitest.config.ts), so leftovers would affect the next file.
afterEach(async () => {
  cleanup()
  vi.useRealTimers()
  vi.restoreAllMocks()
  localStorage.clear()
  sessionStorage.clear()
  await Promise.all(endingEngines)
  endingEngines.clear()
})
