import { formatDuration, WEEKDAYS } from '../time.ts'

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']
const every = (step: number, one: string): string => `every ${step === 1 ? one : `${step} ${one}s`}`
const listed = (count: number, one: string, values: string): string => `${one}${count === 1 ? '' : 's'} ${values}`

/** The words with which a rule is described. The UI has them in its language (texts/ui/calendar.ts). */
export const calendarWords = {
  timing: (rules: string, zone: string, limits: string, except: string) => `${rules} (${zone})${limits}${except}`,
  startsAt: (moment: string) => `, from ${moment}`,
  endsAt: (moment: string) => `, until ${moment}`,
  except: (exceptions: readonly string[]) => `, except ${exceptions.join(' and ')}`,
  onDate: (date: string) => `on ${date}`,
  onDates: (dates: number) => `on ${dates} dates`,
  everySeconds: (seconds: number, moment: string) => `every ${formatDuration(seconds)} from ${moment} on`,
  onceAt: (moment: string) => `once, ${moment}`,
  atTimes: (times: string) => `at ${times}`,
  everyDay: (time: string) => `every day ${time}`,
  onDays: (time: string, days: string) => `${time} ${days}`,
  everySecond: (step: number) => every(step, 'second'),
  everyMinute: (step: number) => every(step, 'minute'),
  everyHour: (step: number) => every(step, 'hour'),
  between: (text: string, from: string, to: string) => `${text} from ${from} to ${to}`,
  atValues: (values: string) => `at ${values}`,
  ofValues: (time: string, values: string) => `${time} of ${values}`,
  ofEveryMinute: (time: string) => `${time} of every minute`,
  ofEveryHour: (time: string) => `${time} of every hour`,
  everyHourAt: (minute: number) => `every hour at minute ${minute}`,
  seconds: (count: number, values: string) => listed(count, 'second', values),
  minutes: (count: number, values: string) => listed(count, 'minute', values),
  hours: (count: number, values: string) => listed(count, 'hour', values),
  days: (count: number, values: string) => listed(count, 'day', values),
  range: (from: string, to: string) => `${from} to ${to}`,
  list: (parts: readonly string[]) =>
    parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`,
  month: (month: number) => MONTHS[month - 1]!,
  weekday: (day: number) => WEEKDAYS[day]!,
  inMonths: (months: string) => `in ${months}`,
  everyDayInMonths: (months: string) => `${months} (every day)`,
  daysInMonths: (days: string, months: string) => `${days} ${months}`,
  on: (days: string) => `on ${days}`,
  onBoth: (ofMonth: string, ofWeek: string) => `on ${ofMonth} if that is ${ofWeek}`,
  onEither: (ofMonth: string, ofWeek: string) => `on ${ofMonth} and also on ${ofWeek}`,
  lastDay: () => 'the last day of the month',
  lastWorkday: () => 'the last weekday (Monday to Friday) of the month',
  nearestWorkday: (day: string) => `the weekday nearest to day ${day}`,
  /** `rank`: 1 to 5, or null for the last. */
  nthWeekday: (rank: number | null, day: number) =>
    `the ${rank === null ? 'last' : ORDINALS[rank - 1]} ${WEEKDAYS[day]} of the month`,
  dailyWindow: (times: string, zone: string, lasts: string) => `every day ${times} (${zone})${lasts}`,
  weeklyWindow: (weekday: string, times: string, zone: string, lasts: string) =>
    `every ${weekday} ${times} (${zone})${lasts}`,
  windowOfDays: (from: string, weekday: string, until: string) => `${from} to ${weekday} ${until}`,
  lastOn: (date: string) => `, last on ${date}`
}
