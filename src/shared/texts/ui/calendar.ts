import { calendarWords } from '../../calendar/english.ts'
import { area } from './area.ts'

/** The words of `describeTiming`, `describeRule` and `describeWindows`, which the command line has in English. */
export const texts = area('calendar', calendarWords)
