import { sentencesOf } from '../sentence.ts'

const CRON_FIELDS = {
  second: 'second',
  minute: 'minute',
  hour: 'hour',
  day: 'day of month',
  month: 'month',
  weekday: 'day of week'
}
export type CronField = keyof typeof CRON_FIELDS
interface InCron {
  field: CronField
  part: string
}

const inCron = ({ field, part }: InCron): string => `The ${CRON_FIELDS[field]} field ("${part}")`

/** What is wrong with a value, for the API and for forms. */
export const valuesErrors = {
  'values.too_many_placeholders': ({ max }: { max: number }) =>
    `It has more than ${max.toLocaleString('en-US')} placeholders. Use fewer.`,
  'values.placeholder_unknown': ({ placeholder, known }: { placeholder: string; known: readonly string[] }) =>
    `${placeholder} is not known here. Use ${known.join(', ')}; write {{ for a literal brace.`,
  'values.too_long_when_expanded': ({ placeholder }: { placeholder: string }) =>
    `A value has more than 16 MB once ${placeholder} is replaced. Use fewer placeholders, or ones that stand for less.`,
  'values.files_limit_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under an open files limit below ${least}; set at least ${least}, or leave it empty`,
  'values.memory_limit_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under a memory limit below ${least} MB; set at least ${least}, or leave it empty`,
  'values.address_space_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under an address space limit below ${least} MB; set at least ${least}, or leave it empty`,
  'values.nested_too_deep': ({ depth }: { depth: number }) => `is nested more than ${depth} levels deep`,
  'values.field_not_supported': ({ field }: { field: string }) => `has a field "${field}", which is not supported`,
  'values.too_many_fields': ({ fields }: { fields: number }) =>
    `has more than ${fields.toLocaleString('en-US')} fields in one object`,
  'values.too_many_values': ({ values }: { values: number }) =>
    `has more than ${values.toLocaleString('en-US')} values`,
  'values.too_large': ({ size }: { size: number }) =>
    `is larger than ${size} values and characters when its aliases are replaced`,
  'values.cron_nickname_unknown': ({ text, known }: { text: string; known: readonly string[] }) =>
    `"${text}" is unknown. Use one of ${known.join(', ')}.`,
  'values.cron_field_count': ({ fields }: { fields: number }) =>
    `The expression has ${fields} ${fields === 1 ? 'field' : 'fields'}; it needs five (minute hour day month weekday), or six with seconds first.`,
  'values.cron_part_empty': ({ field }: { field: CronField }) => `The ${CRON_FIELDS[field]} field has an empty part.`,
  'values.cron_several': (of: InCron & { sign: string }) => `${inCron(of)} has more than one "${of.sign}".`,
  'values.cron_step_zero': (of: InCron) => `${inCron(of)} has a step of 0; it must be at least 1.`,
  'values.cron_step_too_large': (of: InCron & { step: number; values: number }) =>
    `${inCron(of)} has a step of ${of.step}; there are only ${of.values} values.`,
  'values.cron_incomplete': (of: InCron) => `${inCron(of)} is not complete.`,
  'values.cron_no_number': (of: InCron & { text: string; hasNames: boolean }) =>
    `${inCron(of)} has "${of.text}", which is not a ${of.hasNames ? 'number or name' : 'number'}.`,
  'values.cron_out_of_range': (of: InCron & { value: number; from: number; to: number }) =>
    `${inCron(of)} has ${of.value}; it goes from ${of.from} to ${of.to}.`,
  'values.cron_last_workday_combined': (of: InCron) =>
    `${inCron(of)} combines LW with others; it must be the only one.`,
  'values.cron_day_unknown': (of: InCron) => `${inCron(of)} is unknown; use L (last day), 15W (nearest weekday) or LW.`,
  'values.cron_last_needs_day': (of: InCron) =>
    `${inCron(of)} needs a day before it: 5L is the last Friday of the month.`,
  'values.time_zone_unknown': ({ zone }: { zone: string }) =>
    `"${zone}" is not a time zone. Use a name such as Europe/Berlin or UTC.`,
  'values.rule_invalid': ({ number, problem }: { number: number; problem: string }) => `Rule ${number}: ${problem}`,
  'values.exclusion_invalid': ({ expression, problem }: { expression: string; problem: string }) =>
    `Exclusion "${expression}": ${problem}`,
  'values.excluded_date_unknown': ({ date }: { date: string }) => `Excluded date ${date} is not a day of the calendar.`,
  'values.schedule_ends_before_start': () => 'The schedule ends before it starts.',
  'values.rules_never_fire': () => 'It never fires: no day of any year matches its rules.',
  'values.schedule_never_fires': () => 'It never fires: its start, end and exclusions leave no run times.',
  /** `excluded`: the first exclusions; `more`: how many others there are. */
  'values.timing_too_costly': (of: { rules: number; excluded: readonly string[]; more: number }) => {
    const shown = of.excluded.map((expression) => `"${expression}"`).join(', ')
    const rules = of.rules === 1 ? 'its rule' : `its ${of.rules} rules`
    const why =
      shown === ''
        ? `${rules} and exclusions leave almost none`
        : `the exclusions (${shown}${of.more > 0 ? `, and ${of.more} more` : ''}) leave almost nothing of ${rules}`
    return `The run times take too long to find: ${why}. Write fewer rules and exclusions that say the same.`
  },
  'values.request_refused': ({ problem }: { problem: string }) => `The request ${problem}.`
}

export const sentence = sentencesOf(valuesErrors)
