import { cleanup } from '@testing-library/react'
import { afterEach, vi } from 'vitest'
import './test-speed.ts'

// Test files share a page and its modules (vitest.config.ts): what one leaves there, the next would find.
afterEach(() => {
  cleanup()
  vi.useRealTimers()
  vi.restoreAllMocks()
  localStorage.clear()
  sessionStorage.clear()
})
