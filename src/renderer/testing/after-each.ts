import { cleanup } from '@testing-library/react'
import { afterEach, vi } from 'vitest'
import './test-speed.ts'

// Test files share a page and its modules (vitest.config.ts), so leftovers would affect the next file.
afterEach(() => {
  cleanup()
  vi.useRealTimers()
  vi.restoreAllMocks()
  localStorage.clear()
  sessionStorage.clear()
})
