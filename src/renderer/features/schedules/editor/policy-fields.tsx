import { Button, Group, Stack, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Fields } from '../../../ui/fields/form-of-schema.ts'
import { joinFacts } from '../../../ui/numbers.ts'
import { Fold } from '../../../ui/fold.tsx'
import { CATCH_UP_WORDS, OVERLAP_WORDS } from '../schedule-words.ts'
import classes from './editor.module.css'
import type { ScheduleTexts } from './schedule-form.ts'
import { CODE_INPUT } from '../../../ui/fields/code-input.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

interface PolicyFieldsProps {
  fields: Fields<ScheduleTexts>
}

export function PolicyFields({ fields }: PolicyFieldsProps) {
  const { values, change } = fields
  return (
    <Stack gap={12}>
      <Choice
        label={texts.ifStillLive}
        choices={OVERLAP_WORDS}
        value={values.overlap}
        onChange={(overlap) => change({ overlap })}
      />
      <Choice
        label={texts.ifNotRunning}
        choices={CATCH_UP_WORDS}
        value={values.catchUp}
        onChange={(catchUp) => change({ catchUp })}
      >
        {values.catchUp !== 'none' && (
          <span className={classes.line}>
            {texts.withinField(
              <TextInput {...fields.input('catchUpWindowSeconds')} aria-label={texts.catchUpWindow} w={84} />
            )}
          </span>
        )}
      </Choice>
      <Choice label={texts.ifTimeSkipped} choices={GAP_WORDS} value={values.gap} onChange={(gap) => change({ gap })} />
      <Choice
        label={texts.ifTimeRepeated}
        choices={DOUBLED_WORDS}
        value={values.doubled}
        onChange={(doubled) => change({ doubled })}
      />
      <Fold
        title={texts.limits}
        summary={limitWords(values) || texts.limitsSummary}
        isWrong={fields.hasError(
          'jitterSeconds',
          'pauseAfterFailures',
          'endMs',
          'maxRuns',
          'excludedDates',
          'excludedCrons'
        )}
      >
        <LimitFields fields={fields} />
      </Fold>
    </Stack>
  )
}

const GAP_WORDS: Record<ScheduleTexts['gap'], { word: string; text: string }> = {
  run_at_shift: { word: texts.gapRun, text: texts.gapRunHint },
  skip: { word: texts.skip, text: texts.gapSkipHint }
}
const DOUBLED_WORDS: Record<ScheduleTexts['doubled'], { word: string; text: string }> = {
  run_once: { word: texts.runOnce, text: texts.runOnceHint },
  run_twice: { word: texts.runTwice, text: texts.runTwiceHint }
}

interface ChoiceProps<Value extends string> {
  label: string
  choices: Record<Value, { word: string; text: string }>
  value: Value
  onChange: (value: Value) => void
  children?: React.ReactNode
}

function Choice<Value extends string>({ label, choices, value, onChange, children }: ChoiceProps<Value>) {
  return (
    <fieldset className={classes.choice}>
      <legend>{label}</legend>
      <Group gap={6} className={classes.chips}>
        {(Object.entries(choices) as [Value, { word: string; text: string }][]).map(([each, { word, text }]) => (
          <button key={each} type="button" aria-pressed={each === value} title={text} onClick={() => onChange(each)}>
            {word}
          </button>
        ))}
        {children}
      </Group>
      <p className="dim">{choices[value].text}</p>
    </fieldset>
  )
}

function LimitFields({ fields }: PolicyFieldsProps) {
  const { zone, excludedDates, excludedCrons } = fields.values
  const [showsExclusions, setShowsExclusions] = useState(excludedCrons !== '')
  return (
    <>
      <div className={classes.pair}>
        <TextInput
          {...fields.input('jitterSeconds')}
          label={texts.jitter}
          description={texts.jitterHint}
          placeholder={texts.none}
        />
        <TextInput
          {...fields.input('pauseAfterFailures')}
          label={texts.pauseAfterFailures}
          description={texts.pauseAfterFailuresHint}
          placeholder={texts.never}
          inputMode="numeric"
        />
        <TextInput {...fields.input('startMs')} type="datetime-local" label={texts.start} description={zone} />
        <TextInput {...fields.input('endMs')} type="datetime-local" label={texts.end} description={zone} />
        <TextInput
          {...fields.input('maxRuns')}
          label={texts.maximumRuns}
          description={texts.maximumRunsHint}
          placeholder={texts.unlimited}
          inputMode="numeric"
        />
      </div>
      <TagsInput
        label={texts.excludedDates}
        description={texts.excludedDatesHint}
        placeholder={excludedDates.length === 0 ? texts.dateExample : undefined}
        splitChars={[',', ' ', ';']}
        value={excludedDates}
        error={fields.error('excludedDates')}
        onChange={(days) =>
          fields.change({ excludedDates: [...new Set(days.filter((day) => /^\d{4}-\d\d-\d\d$/.test(day)))].sort() })
        }
      />
      {showsExclusions ? (
        <Textarea
          {...fields.input('excludedCrons')}
          label={texts.excludedTimes}
          description={texts.excludedTimesHint}
          placeholder="* * 24-31 12 *"
          autosize
          minRows={1}
          {...CODE_INPUT}
        />
      ) : (
        <Button variant="subtle" color="gray" className={classes.add} onClick={() => setShowsExclusions(true)}>
          {texts.excludeTimesItem}
        </Button>
      )}
    </>
  )
}

function limitWords(form: ScheduleTexts): string {
  return joinFacts(
    form.jitterSeconds.trim() !== '' && texts.jitterUpTo(form.jitterSeconds),
    form.startMs !== '' && texts.fromTime(form.startMs.replace('T', ' ')),
    form.endMs !== '' && texts.untilTime(form.endMs.replace('T', ' ')),
    form.maxRuns.trim() !== '' && texts.upToRuns(form.maxRuns),
    form.pauseAfterFailures.trim() !== '' && texts.pausedAfterFailures(form.pauseAfterFailures),
    (form.excludedDates.length > 0 || form.excludedCrons.trim() !== '') && texts.withExclusions
  )
}
