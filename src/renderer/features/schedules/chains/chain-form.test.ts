import { expect, it } from 'vitest'
import { type Chain, RunTemplate, SECRET_MASK } from '../../../../shared/contract/index.ts'
import { aChainId, aProjectName } from '../../../../shared/testing/ids.ts'
import { problemsOf } from '../../../ui/fields/form-of-schema.ts'
import { newTemplate } from '../editor/schedule-form.ts'
import { ChainForm, type ChainTexts, startChain } from './chains-screen.tsx'

const template = { project: aProjectName('prices'), spiders: ['otto'] }
const form = (over: object) => ({
  ...startChain(null),
  project: 'news',
  spider: 'reuters',
  run: newTemplate(template),
  ...over
})

const problem = (texts: ChainTexts) => [...problemsOf(ChainForm.safeParse(texts))]

it('shows missing values at their fields', () => {
  expect(problem(startChain(null))).toEqual([
    ['project', expect.stringContaining('Enter a project')],
    ['spider', expect.stringContaining('Enter a spider')],
    ['run.project', 'Choose a project'],
    ['run.spiders', 'Choose at least one spider']
  ])
})

it('gets a name from what it does if it has none', () => {
  expect(ChainForm.parse(form({}))).toMatchObject({ name: 'otto after reuters' })
  expect(ChainForm.parse(form({ spider: '*' }))).toMatchObject({ name: 'otto after news', spider: '*' })
})

it('accepts values from the previous job, and no placeholder that does not exist', () => {
  const withValue = (value: string) => form({ run: newTemplate({ ...template, args: { total: value } }) })
  expect(problem(withValue('{stats.item_scraped_count}'))).toEqual([])
  expect(problem(withValue('{stat}'))).toEqual([['run.args.0.value', expect.stringContaining('{stat}')]])
})

it('returns its initial values, with secrets unchanged', () => {
  const run = RunTemplate.parse({ ...template, args: { token: SECRET_MASK }, secretNames: ['token'] })
  const chain: Chain = {
    id: aChainId('c'.repeat(32)),
    name: 'a',
    enabled: false,
    project: aProjectName('news'),
    spider: '*',
    on: 'ended',
    run,
    firedCount: 3,
    lastFiredAtMs: 1,
    problem: null
  }
  const { name, project, spider, on } = chain
  expect(ChainForm.parse(startChain(chain))).toEqual({ name, project, spider, on, run })
})
