import { PERMISSION_TEXTS } from '../../permissions.ts'
import { area, textsIn } from './area.ts'

/** `label.jobs.run`, `text.jobs.run`: what the command line has in English. */
export const texts = area('permissions', textsIn(PERMISSION_TEXTS, ['label', 'text']))
