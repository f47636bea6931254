import { screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { renderBare } from '../testing/render-app.tsx'
import { LevelChips } from './level-chips.tsx'
import { LOG_LEVELS } from './log-line.ts'

const counts = { DEBUG: 821, INFO: 23, WARNING: 0, ERROR: 28 }

const countsShown = (props: { holdsAll: boolean; records?: Record<string, number> }) => {
  const { holdsAll, records } = props
  const snapshot = { shownLevels: new Set(LOG_LEVELS), counts, holdsAll }
  const { unmount } = renderBare(<LevelChips snapshot={snapshot} records={records} onShow={vi.fn()} />)
  const texts = screen.getAllByRole('button').map(({ textContent }) => textContent)
  unmount()
  return texts
}

it('counts a fully loaded log line by line, as it grows', () => {
  const records = { DEBUG: 800, INFO: 20, ERROR: 20 }
  expect(countsShown({ holdsAll: true, records })).toEqual(['DEBUG 821', 'INFO 23', 'WARNING 0', 'ERROR 28'])
})

it('shows the counts of the engine for the whole log if only its end is loaded', () => {
  const records = { DEBUG: 40_000, INFO: 20, WARNING: 7, ERROR: 140, CRITICAL: 2 }
  expect(countsShown({ holdsAll: false, records })).toEqual(['DEBUG 40,000', 'INFO 23', 'WARNING 7', 'ERROR 142'])
})

it('says that there may be more if the rest was not counted', () => {
  expect(countsShown({ holdsAll: false })).toEqual(['DEBUG 821+', 'INFO 23+', 'WARNING 0+', 'ERROR 28+'])
})
