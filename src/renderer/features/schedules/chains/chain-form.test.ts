import { expect, it } from 'vitest'
import { type Chain, RunTemplate, SECRET_MASK } from '../../../../shared/contract/index.ts'
import { newTemplateForm } from '../editor/schedule-form.ts'
import { readChain, startChain } from './chain-form.ts'

const template = { project: 'prices', spiders: ['otto'] }
const form = (over: object) => ({
  ...startChain(null),
  project: 'news',
  spider: 'reuters',
  run: newTemplateForm(template),
  ...over
})

it('says what is missing, first what is first on the screen', () => {
  expect(readChain(startChain(null), true)).toEqual({ missing: 'After which project?' })
  expect(readChain(form({ spider: ' ' }), true)).toEqual({ missing: 'After which spider? * is any' })
  expect(readChain(form({ run: newTemplateForm() }), true)).toEqual({ missing: 'What is run: Choose a project' })
})

it('is called after what it does where it has no name', () => {
  expect(readChain(form({}), true)).toMatchObject({ settings: { name: 'otto after reuters' } })
  expect(readChain(form({ spider: '*' }), true)).toMatchObject({ settings: { name: 'otto after news', spider: '*' } })
})

it('takes what the job before left, and no placeholder that there is none of', () => {
  const withValue = (value: string) => form({ run: newTemplateForm({ ...template, args: { total: value } }) })
  expect(readChain(withValue('{stats.item_scraped_count}'), true)).toHaveProperty('settings')
  expect(readChain(withValue('{stat}'), true)).toMatchObject({ missing: expect.stringContaining('{stat}') })
})

it('gives back what it was opened with, its secrets untouched', () => {
  const run = RunTemplate.parse({ ...template, args: { token: SECRET_MASK }, secretNames: ['token'] })
  const chain: Chain = {
    ...{ id: 'c'.repeat(32), name: 'a', enabled: false, project: 'news', spider: '*', on: 'ended', run },
    ...{ firedCount: 3, lastFiredAtMs: 1, problem: null }
  }
  const { name, enabled, project, spider, on } = chain
  expect(readChain(startChain(chain), false)).toEqual({ settings: { name, enabled, project, spider, on, run } })
})
