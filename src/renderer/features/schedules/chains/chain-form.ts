import type { Chain, ChainSettings } from '../../../../shared/contract/index.ts'
import { SECRET_MASK } from '../../../../shared/contract/index.ts'
import { newTemplateForm, readTemplate, type TemplateForm } from '../editor/schedule-form.ts'

export interface ChainForm {
  readonly name: string
  readonly project: string | null
  /** `*` stands for all of the project. */
  readonly spider: string
  readonly on: Chain['on']
  readonly run: TemplateForm
}

export function startChain(chain: Chain | null): ChainForm {
  if (chain === null) return { name: '', project: null, spider: '', on: 'succeeded', run: newTemplateForm() }
  const run = newTemplateForm(chain.run)
  // The engine takes the mask for the value of before: what is not touched need not be entered again.
  const keep = (rows: TemplateForm['args']) => rows.map((row) => (row.isSecret ? { ...row, value: SECRET_MASK } : row))
  return {
    name: chain.name,
    project: chain.project,
    spider: chain.spider,
    on: chain.on,
    run: { ...run, args: keep(run.args), settings: keep(run.settings) }
  }
}

/** What the engine is asked for, or what is missing, in words. */
export function readChain(form: ChainForm, enabled: boolean): { settings: ChainSettings } | { missing: string } {
  const spider = form.spider.trim()
  if (form.project === null || form.project.trim() === '') return { missing: 'After which project?' }
  if (spider === '') return { missing: 'After which spider? * is any' }
  const run = readTemplate(form.run, 'chain')
  if ('problem' in run) return { missing: `What is run: ${run.problem}` }
  const after = spider === '*' ? form.project : spider
  const name = form.name.trim() || `${run.spiders.join(', ')} after ${after}`.slice(0, 200)
  return { settings: { name, enabled, project: form.project.trim(), spider, on: form.on, run } }
}
