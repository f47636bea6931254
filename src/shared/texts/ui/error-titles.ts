import { ERROR_CODES } from '../../errors.ts'
import { area, textsIn } from './area.ts'

/** Error titles, with keys such as `title.NODE_NOT_FOUND`. The English titles are in shared/errors.ts. */
export const texts = area('error-titles', textsIn(ERROR_CODES, ['title']))
