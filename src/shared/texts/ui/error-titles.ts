import { ERROR_CODES } from '../../errors.ts'
import { area, textsIn } from './area.ts'

/** `title.NODE_NOT_FOUND`: the titles of errors, which docs/errors.md has in English. */
export const texts = area('error-titles', textsIn(ERROR_CODES, ['title']))
