/** The engine's and the UI's calendar. Check a timing with `problemOfTiming` before passing it to other functions. */
export { type Builder, readBuilder, writeBuilder } from './builder.ts'
export { nextOccurrence, type OccurrenceRange, occurrencesOf, occurrencesToShow } from './occurrences.ts'
export { problemOfCron, problemOfTiming } from './problems.ts'
export { SearchBudget, TimingTooCostly } from './search-budget.ts'
export { expandText, problemOfText, type TextValues } from './text.ts'
export { areApart, describeWindows, type Windows, windowFrom } from './windows.ts'
export { describeRule, describeTiming } from './words.ts'
export { isZone, listZones, momentOfWall } from './zones.ts'
