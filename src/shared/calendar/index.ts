/**
 * When schedules fire: the only calendar of the product, for the engine and the page alike. Everything here is pure;
 * moments are milliseconds UTC. A timing must have no problem (`problemOfTiming`) before the others are asked.
 */
export { type Builder, readBuilder, writeBuilder } from './builder.ts'
export { nextOccurrence, occurrencesOf } from './occurrences.ts'
export { problemOfCron, problemOfTiming } from './problems.ts'
export { expandText, problemOfText, type TextValues } from './text.ts'
export { describeRule, describeTiming } from './words.ts'
export { isZone, listZones } from './zones.ts'
