import { IconCheck, IconFlag, IconX } from '@tabler/icons-react'
import type { Chain, ProjectName } from '../../../../shared/contract/index.ts'
import type { Tone } from '../../../ui/status.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

export const ENDINGS: Record<Chain['on'], { word: string; sentence: string; tone: Tone; Icon: typeof IconCheck }> = {
  succeeded: { word: texts.succeeded, sentence: texts.succeeds, tone: 'ok', Icon: IconCheck },
  failed: { word: texts.failed, sentence: texts.fails, tone: 'bad', Icon: IconX },
  ended: { word: texts.endedWord, sentence: texts.ends, tone: 'run', Icon: IconFlag }
}

/** `prices/otto`, `any spider of news`, `any spider`. */
export function spiderWords(project: ProjectName, spider: string): string {
  if (spider !== '*') return `${project}/${spider}`
  return project === '*' ? texts.anySpider : texts.anySpiderOf(project)
}
