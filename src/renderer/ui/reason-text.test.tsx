import { cleanup } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { renderBare } from '../testing/render-app.tsx'
import { ReasonText } from './reason-text.tsx'

afterEach(cleanup)

test.each([
  ['end not visible in the log', 'end not visible in the log Quiet log'],
  ['items below 5 (had 2)', 'items below 5 (had 2) Few items'],
  ['no response at all', 'no response at all'],
  ['killed by SIGKILL', 'killed by SIGKILL'],
  ['exit code 1', 'exit code 1'],
  ['finished', 'finished'],
  ['a reason of its own', 'a reason of its own']
])('the reason %j is followed by a general term only if that adds information', (reason, shown) => {
  renderBare(<ReasonText reason={reason} />)
  const strong = document.querySelector('strong')!
  expect((strong.closest('[tabindex]') ?? strong).textContent).toBe(shown)
})
