import { NumberInput, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Builder, readBuilder, writeBuilder } from '../../../../shared/calendar/index.ts'
import classes from './editor.module.css'
import { Select } from '../../../ui/fields/select.tsx'
import { CODE_INPUT } from '../../../ui/fields/code-input.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const WEEKDAYS = [texts.sun, texts.mon, texts.tue, texts.wed, texts.thu, texts.fri, texts.sat]
const WEEK = [1, 2, 3, 4, 5, 6, 0]
const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const MONTH_DAYS = [...Array.from({ length: 31 }, (_, day) => day + 1), 'L' as const]

interface BuilderFieldsProps {
  expression: string
  ruleNumber: number | null
  onChange: (expression: string) => void
}

/** Shows a simple expression as choices. Users edit all other expressions field by field. */
export function BuilderFields({ expression, ruleNumber, onChange }: BuilderFieldsProps) {
  const builder = readBuilder(expression)
  const [isCustom, setCustom] = useState(false)
  const kind: BuilderKind = isCustom || builder === null ? 'custom' : builder.kind
  const write = (next: Builder) => onChange(writeBuilder(next))
  return (
    <Stack align="flex-start" gap={8} miw={0}>
      <SegmentedControl
        aria-label={texts.howOften(ruleNumber)}
        className={classes.kinds}
        value={kind}
        onChange={(value) => {
          setCustom(value === 'custom')
          if (value !== 'custom') onChange(toKind(expression, value as Builder['kind']))
        }}
        data={Object.entries(KIND_WORDS).map(([value, label]) => ({ value, label }))}
      />
      {kind === 'custom' || builder === null ? (
        <CronFieldBoxes expression={expression} ruleNumber={ruleNumber} onChange={onChange} />
      ) : builder.kind === 'minutes' ? (
        <div className={classes.line}>
          {texts.everyMinutes(
            <Select
              aria-label={texts.minutesBetweenRuns(ruleNumber)}
              w={84}
              allowDeselect={false}
              value={String(builder.every)}
              data={[...new Set([...EVERY_MINUTES, builder.every])].map(String)}
              onChange={(every) => write({ kind: 'minutes', every: Number(every) })}
            />,
            builder.every
          )}
        </div>
      ) : builder.kind === 'hourly' ? (
        <div className={classes.line}>
          {texts.everyHourAtMinute(
            <Minute
              minute={builder.minute}
              ruleNumber={ruleNumber}
              onChange={(minute) => write({ ...builder, minute })}
            />
          )}
        </div>
      ) : (
        <>
          {builder.kind === 'weekly' && (
            <Choices
              label={texts.weekdays(ruleNumber)}
              of={WEEK}
              nameOf={(day) => WEEKDAYS[day] as string}
              chosen={builder.days}
              onToggle={(day) => write({ ...builder, days: toggle(builder.days, day) })}
              columns={7}
            />
          )}
          {builder.kind === 'monthly' && (
            <Choices
              label={texts.daysOfMonth(ruleNumber)}
              of={MONTH_DAYS}
              nameOf={(day) => (day === 'L' ? texts.lastDayOfMonth : String(day))}
              chosen={builder.days}
              onToggle={(day) => write({ ...builder, days: toggle(builder.days, day) })}
              columns={16}
            />
          )}
          <Choices
            label={texts.hours(ruleNumber)}
            of={HOURS}
            nameOf={(hour) => String(hour).padStart(2, '0')}
            chosen={builder.hours}
            onToggle={(hour) => write({ ...builder, hours: toggle(builder.hours, hour) })}
            columns={12}
          />
          <div className={classes.line}>
            {texts.atMinute(
              <Minute
                minute={builder.minute}
                ruleNumber={ruleNumber}
                onChange={(minute) => write({ ...builder, minute })}
              />
            )}
            {builder.kind === 'monthly' && builder.days.some((day) => day !== 'L' && day > 28) && (
              <span className="tone-wait">{texts.monthsSkipped}</span>
            )}
          </div>
        </>
      )}
    </Stack>
  )
}

function Minute({
  minute,
  ruleNumber,
  onChange
}: {
  minute: number
  ruleNumber: number | null
  onChange: (minute: number) => void
}) {
  return (
    <NumberInput
      aria-label={texts.minuteOfHour(ruleNumber)}
      w={68}
      min={0}
      max={59}
      clampBehavior="strict"
      allowDecimal={false}
      value={minute}
      onChange={(value) => onChange(Number(value) || 0)}
    />
  )
}

interface ChoicesProps<Value extends string | number> {
  label: string
  of: readonly Value[]
  nameOf: (value: Value) => string
  chosen: readonly Value[]
  onToggle: (value: Value) => void
  columns: number
}

function Choices<Value extends string | number>({ label, of, nameOf, chosen, onToggle, columns }: ChoicesProps<Value>) {
  return (
    <fieldset className={classes.choices} style={{ ['--columns' as string]: columns }}>
      <legend className="visually-hidden">{label}</legend>
      {of.map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen.includes(value)}
          aria-label={`${label}: ${nameOf(value)}`}
          onClick={() => onToggle(value)}
        >
          {nameOf(value)}
        </button>
      ))}
    </fieldset>
  )
}

function CronFieldBoxes({ expression, ruleNumber, onChange }: BuilderFieldsProps) {
  const fields = fieldsOf(expression)
  if (fields === null) return <p className="dim">{texts.cronFieldsHint}</p>
  return (
    <div className={classes.boxes}>
      {fields.map(({ name, value }, index) => (
        <TextInput
          key={name}
          label={name}
          aria-label={texts.cronField(name, ruleNumber)}
          value={value}
          // A space would split one field into two.
          onChange={(event) => {
            const typed = event.currentTarget.value.replace(/\s/g, '')
            onChange(fields.map((field, at) => (at === index ? typed || '*' : field.value)).join(' '))
          }}
          {...CODE_INPUT}
        />
      ))}
    </div>
  )
}

type BuilderKind = Builder['kind'] | 'custom'

const KIND_WORDS: Record<BuilderKind, string> = {
  minutes: texts.minutes,
  hourly: texts.hourly,
  daily: texts.daily,
  weekly: texts.weekly,
  monthly: texts.monthly,
  custom: texts.custom
}

/** The minutes to choose from: divisors of 60, because other intervals do not divide an hour evenly. */
const EVERY_MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]

/** The closest expression of the given kind. */
function toKind(expression: string, kind: Builder['kind']): string {
  const builder = readBuilder(expression)
  const minute = builder !== null && 'minute' in builder ? builder.minute : 0
  const hours = builder !== null && 'hours' in builder && builder.hours.length < 24 ? builder.hours : [3]
  const shapes: Record<Builder['kind'], Builder> = {
    minutes: { kind: 'minutes', every: 15 },
    hourly: { kind: 'hourly', minute },
    daily: { kind: 'daily', hours, minute },
    weekly: { kind: 'weekly', days: [1, 2, 3, 4, 5], hours, minute },
    monthly: { kind: 'monthly', days: [1], hours, minute }
  }
  return writeBuilder(shapes[kind])
}

/** Adds or removes a value. Keeps the last value, because an empty list would never run. */
function toggle<Value>(list: readonly Value[], value: Value): Value[] {
  if (!list.includes(value)) return [...list, value]
  return list.length === 1 ? [...list] : list.filter((each) => each !== value)
}

const CRON_FIELDS = [texts.minuteField, texts.hourField, texts.dayField, texts.monthField, texts.weekdayField]

/** The five (or six) fields as written. null: it is a nickname or has a different number of fields. */
function fieldsOf(expression: string): { name: string; value: string }[] | null {
  const values = expression.trim().split(/\s+/)
  if (values.length !== 5 && values.length !== 6) return null
  const names = values.length === 6 ? [texts.second, ...CRON_FIELDS] : CRON_FIELDS
  return values.map((value, index) => ({ name: names[index] as string, value }))
}
