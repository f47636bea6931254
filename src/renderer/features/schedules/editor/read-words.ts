import { problemOfCron } from '../../../../shared/calendar/index.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

/**
 * Reads everyday language as a cron expression: `every weekday at 3:00`, `every 15 minutes between 8 and 18`, `first
 * Monday of the month at noon`. Returns a problem unless every word is understood. Pure.
 */
export function readWords(text: string): { expression: string } | { problem: string } {
  const plain = text.trim()
  if (plain === '') return NOT_UNDERSTOOD
  if (problemOfCron(plain) === null) return { expression: plain }
  const phrase = new Phrase(plain)
  const days = readDays(phrase)
  const months = readMonths(phrase)
  const weekdays = days.weekday ?? readWeekdays(phrase)
  const clock = readClock(phrase)
  if (clock === null || !phrase.isUnderstood()) return NOT_UNDERSTOOD
  if ('problem' in clock) return clock
  if (days.dayOfMonth !== '*' && weekdays !== '*') return { problem: texts.eitherDaysOrWeekdays }
  const second = clock.second === undefined ? '' : `${clock.second} `
  const expression = `${second}${clock.minute} ${clock.hour} ${days.dayOfMonth} ${months} ${weekdays}`
  return problemOfCron(expression) === null ? { expression } : NOT_UNDERSTOOD
}

const NOT_UNDERSTOOD = { problem: texts.notUnderstood }

/** The text that remains to be understood. */
class Phrase {
  private rest: string
  constructor(text: string) {
    const tidy = text
      .toLowerCase()
      .replace(/\([a-z_/+-]+\)\s*$/i, '')
      .replace(/[–—]/g, '-')
      .replace(/\b([ap])\.m\.?/g, '$1m')
      .replace(/,/g, ' , ')
    this.rest = ` ${tidy
      .replace(/[.;!]+\s*$/, '')
      .replace(/\s+/g, ' ')
      .trim()} `
  }
  consume(pattern: RegExp): RegExpMatchArray | null {
    const found = this.rest.match(pattern)
    if (found !== null)
      this.rest = `${this.rest.slice(0, found.index)} ${this.rest.slice((found.index ?? 0) + found[0].length)}`
    return found
  }
  consumeAll(pattern: RegExp): RegExpMatchArray[] {
    const all: RegExpMatchArray[] = []
    for (let found = this.consume(pattern); found !== null; found = this.consume(pattern)) all.push(found)
    return all
  }
  isUnderstood(): boolean {
    return this.rest.replace(FILLERS, ' ').replace(/[\s,]/g, '') === ''
  }
}

const FILLERS =
  /\b(at|on|in|of|the|and|every|each|day|days|daily|month|months|monthly|week|weeks|weekly|only|run|past|o'?clock|hours?|minutes?)\b/g

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const WEEKDAY = '(sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:days?)?'
const weekdayOf = (word: string | undefined) => WEEKDAYS.indexOf((word ?? '').slice(0, 3))
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const monthOf = (word: string | undefined) => MONTHS.indexOf((word ?? '').slice(0, 3)) + 1
const NTH_WEEKDAY = new RegExp(
  String.raw`\b(first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th) ${WEEKDAY}\b(?: (?:of|in) (?:the|each|every|a) month)?`
)
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

function readDays(phrase: Phrase): { dayOfMonth: string; weekday: string | null } {
  const nth = phrase.consume(NTH_WEEKDAY)
  if (nth !== null) {
    const word = nth[1] ?? ''
    const count = ORDINALS.indexOf(word) + 1 || Number.parseInt(word, 10)
    return { dayOfMonth: '*', weekday: word === 'last' ? `${weekdayOf(nth[2])}L` : `${weekdayOf(nth[2])}#${count}` }
  }
  const days: string[] = []
  if (phrase.consume(/\blast (?:weekday|working day|workday)\b(?: of (?:the|each|every) month)?/) !== null)
    return { dayOfMonth: 'LW', weekday: null }
  if (phrase.consume(/\blast(?: day)?\b(?: of (?:the|each|every) month)?/) !== null) days.push('L')
  if (phrase.consume(/\bfirst(?: day)?\b(?: of (?:the|each|every) month)?/) !== null) days.unshift('1')
  const ordinals = phrase.consumeAll(/\b(\d{1,2})(?:st|nd|rd|th)\b/).map(([, day]) => day ?? '')
  const named = phrase.consume(
    /\bdays? ((?:\d{1,2}(?: (?:to|-) \d{1,2})?(?: , and | , | and )?)+)(?: ?of (?:the|each|every) month)?/
  )
  const listed = valuesOf(named?.[1])
  const isMonthly = phrase.consume(/\bmonthly\b|\b(?:each|every|a) month\b/) !== null
  const all = [...ordinals, ...listed]
  const list = [...new Set([...days.filter((day) => day === '1'), ...all, ...days.filter((day) => day === 'L')])]
  return { dayOfMonth: list.length > 0 ? list.join(',') : isMonthly ? '1' : '*', weekday: null }
}

/** `1 to 3 , 5 and 7` as `1-3`, `5`, `7`. */
const valuesOf = (text = ''): string[] =>
  (text.match(/\d+(?: (?:to|-) \d+)?/g) ?? []).map((value) => value.replace(/ (?:to|-) /, '-'))

function readMonths(phrase: Phrase): string {
  const range = phrase.consume(new RegExp(`\\b${MONTH} ?(?:to|through|thru|until|-) ?${MONTH}\\b`))
  if (range !== null) return `${monthOf(range[1])}-${monthOf(range[2])}`
  const months = phrase.consumeAll(new RegExp(`\\b${MONTH}\\b`)).map(([, word]) => monthOf(word))
  return months.length === 0 ? '*' : [...new Set(months)].sort((one, other) => one - other).join(',')
}

function readWeekdays(phrase: Phrase): string {
  const isWorkdays = phrase.consume(/\b(?:weekdays?|workdays?|working days?)\b/) !== null
  const isWeekend = phrase.consume(/\bweekends?\b/) !== null
  const ranges = phrase.consumeAll(new RegExp(`\\b${WEEKDAY} ?(?:to|through|thru|until|-) ?${WEEKDAY}\\b`))
  const isWeekly = phrase.consume(/\bweekly\b|\b(?:each|every|a) week\b/) !== null
  const days = phrase.consumeAll(new RegExp(`\\b${WEEKDAY}\\b`)).map(([, word]) => weekdayOf(word))
  const parts = [
    ...(isWorkdays ? ['1-5'] : []),
    ...ranges.map(([, from, to]) => `${weekdayOf(from)}-${weekdayOf(to)}`),
    ...(isWeekend ? ['0', '6'] : []),
    ...days.map(String)
  ]
  if (parts.length > 0) return [...new Set(parts)].sort().join(',')
  return isWeekly ? '1' : '*'
}

type Clock = { second?: string; minute: string; hour: string }

/** null: not understood. */
function readClock(phrase: Phrase): Clock | { problem: string } | null {
  const between = phrase.consume(
    /\b(?:between|from) (\d{1,2})(?::(\d\d))?( ?[ap]m)? (?:and|to|until|through|-) (\d{1,2})(?::(\d\d))?( ?[ap]m)?\b/
  )
  const from = between && hourOf(between[1], between[3])
  // `until 18:00` includes the run at 18:00. `until 18:59` is also in hour 18.
  const to = between && hourOf(between[4], between[6])
  const span = from === null || to === null ? '*' : `${from}-${to}`
  if (phrase.consume(/\bevery half(?:[ -]an)?[ -]hour\b|\bhalf[ -]hourly\b/) !== null)
    return { minute: '*/30', hour: span }
  if (phrase.consume(/\bevery quarter(?: of an)?[ -]hour\b/) !== null) return { minute: '*/15', hour: span }
  const seconds = phrase.consume(/\bevery (\d{1,2}) seconds?\b/)
  if (seconds !== null) {
    const every = Number(seconds[1])
    if (60 % every !== 0) return { problem: texts.unevenSeconds(every) }
    if (every < 60) return { second: every === 1 ? '*' : `*/${every}`, minute: '*', hour: span }
    return { minute: '*', hour: span }
  }
  const minutes = phrase.consume(/\bevery (?:(\d{1,2}|other|second) )?(?:minutes?|mins?)\b/)
  if (minutes !== null) {
    const every = minutes[1] === undefined ? 1 : Number(minutes[1]) || 2
    if (60 % every !== 0 || every > 60) return { problem: texts.unevenMinutes(every) }
    return { minute: every === 1 ? '*' : every === 60 ? '0' : `*/${every}`, hour: span }
  }
  const hours = phrase.consume(/\bevery (?:(\d{1,2}|other|second) )?hours?\b|\b(hourly)\b/)
  const atMinute = phrase.consume(
    /\b(?:at )?minutes? (\d{1,2})\b|(?<!\d):(\d\d)\b|\b(\d{1,2}) minutes? (?:past|after)(?: (?:every|each|the) hour)?\b/
  )
  const minute = atMinute === null ? null : Number(atMinute[1] ?? atMinute[2] ?? atMinute[3])
  if (hours !== null || (minute !== null && phrase.consume(/\bof (?:every|each) hour\b/) !== null)) {
    const every = hours?.[1] === undefined ? 1 : Number(hours[1]) || 2
    if (24 % every !== 0) return { problem: texts.unevenHours(every) }
    const first = String(minute ?? Number(between?.[2] ?? 0))
    return { minute: first, hour: every === 1 ? span : span === '*' ? `*/${every}` : `${span}/${every}` }
  }
  const ofHours = phrase.consume(/\bof hours? ((?:\d{1,2}(?: (?:to|-) \d{1,2})?(?: , and | , | and )?)+)/)
  if (ofHours !== null) return { minute: String(minute ?? 0), hour: valuesOf(ofHours[1]).join(',') }
  return readTimes(phrase, minute)
}

function readTimes(phrase: Phrase, minuteAlone: number | null): Clock | { problem: string } | null {
  const times: { hour: number; minute: number }[] = []
  if (phrase.consume(/\bnoon\b|\bmidday\b/) !== null) times.push({ hour: 12, minute: 0 })
  if (phrase.consume(/\bmidnight\b/) !== null) times.push({ hour: 0, minute: 0 })
  for (const [, hour, minute, half] of phrase.consumeAll(/\b(\d{1,2})(?::(\d\d))?(?::00)?( ?[ap]m)?\b/)) {
    const read = hourOf(hour, half)
    if (read === null) return null
    times.push({ hour: read, minute: Number(minute ?? 0) })
  }
  if (times.length === 0) return { minute: String(minuteAlone ?? 0), hour: minuteAlone === null ? '0' : '*' }
  const minutes = new Set(times.map(({ minute }) => minute))
  if (minutes.size > 1) return { problem: texts.oneMinuteOnly }
  const hours = [...new Set(times.map(({ hour }) => hour))].sort((one, other) => one - other)
  return { minute: String(times[0]?.minute ?? 0), hour: hours.join(',') }
}

function hourOf(text: string | undefined, half: string | undefined): number | null {
  const hour = Number(text)
  const word = half?.trim()
  if (word === undefined) return hour <= 23 ? hour : null
  if (hour < 1 || hour > 12) return null
  return word === 'pm' ? (hour % 12) + 12 : hour % 12
}
