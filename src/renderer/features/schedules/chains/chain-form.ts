import { z } from 'zod'
import type { Chain } from '../../../../shared/contract/index.ts'
import { ChainSettings } from '../../../../shared/contract/index.ts'
import { newTemplate, templateForm, templateOf, type TemplateTexts } from '../editor/schedule-form.ts'

export interface ChainTexts {
  name: string
  project: string
  /** `*` means every spider of the project. */
  spider: string
  on: Chain['on']
  run: TemplateTexts
}

export function startChain(chain: Chain | null): ChainTexts {
  if (chain === null) return { name: '', project: '', spider: '', on: 'succeeded', run: newTemplate() }
  const { name, project, spider, on, run } = chain
  return { name, project, spider, on, run: templateOf(run) }
}

export const ChainForm: z.ZodType<Omit<ChainSettings, 'enabled'>, ChainTexts> = z
  .object({
    name: z.string().trim(),
    project: z.string().trim().min(1, 'Enter a project, or * for any').pipe(ChainSettings.shape.project),
    spider: z.string().trim().min(1, 'Enter a spider, or * for any'),
    on: ChainSettings.shape.on,
    run: templateForm('chain')
  })
  .transform((chain) => {
    const after = chain.spider === '*' ? chain.project : chain.spider
    return { ...chain, name: chain.name || `${chain.run.spiders.join(', ')} after ${after}`.slice(0, 200) }
  })
