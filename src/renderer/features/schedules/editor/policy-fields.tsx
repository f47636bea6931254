import { Button, Group, Stack, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Fields } from '../../../ui/fields/form-of-schema.ts'
import { joinFacts } from '../../../ui/numbers.ts'
import { Fold } from '../../../ui/fold.tsx'
import { CATCH_UP_WORDS, OVERLAP_WORDS } from '../schedule-words.ts'
import classes from './editor.module.css'
import type { ScheduleTexts } from './schedule-form.ts'
import { CODE_INPUT } from '../../../ui/fields/code-input.ts'

interface PolicyFieldsProps {
  fields: Fields<ScheduleTexts>
}

/** Overlap, catch-up, and the end of the schedule. */
export function PolicyFields({ fields }: PolicyFieldsProps) {
  const { values, change } = fields
  return (
    <Stack gap={12}>
      <Choice
        label="If the previous run is still live"
        choices={OVERLAP_WORDS}
        value={values.overlap}
        onChange={(overlap) => change({ overlap })}
      />
      <Choice
        label="If Scrapdeck was not running"
        choices={CATCH_UP_WORDS}
        value={values.catchUp}
        onChange={(catchUp) => change({ catchUp })}
      >
        {values.catchUp !== 'none' && (
          <span className={classes.line}>
            within
            <TextInput {...fields.input('catchUpWindowSeconds')} aria-label="Catch-up window" w={84} />
          </span>
        )}
      </Choice>
      <Choice
        label="If a clock change skips the time"
        choices={GAP_WORDS}
        value={values.gap}
        onChange={(gap) => change({ gap })}
      />
      <Choice
        label="If a clock change repeats the time"
        choices={DOUBLED_WORDS}
        value={values.doubled}
        onChange={(doubled) => change({ doubled })}
      />
      <Fold
        title="Limits"
        summary={limitWords(values) || 'jitter, start and end, exclusions, pause after failures'}
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
  run_at_shift: { word: 'run at the change', text: 'The run starts when the clocks go forward.' },
  skip: { word: 'skip', text: 'There is no run on that day.' }
}
const DOUBLED_WORDS: Record<ScheduleTexts['doubled'], { word: string; text: string }> = {
  run_once: { word: 'run once', text: 'Only the first occurrence runs.' },
  run_twice: { word: 'run twice', text: 'Both occurrences run.' }
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
          label="Jitter"
          description="Maximum delay. The delay stays the same for this schedule"
          placeholder="none"
        />
        <TextInput
          {...fields.input('pauseAfterFailures')}
          label="Pause after failures"
          description="Number of failed runs in a row"
          placeholder="never"
          inputMode="numeric"
        />
        <TextInput {...fields.input('startMs')} type="datetime-local" label="Start" description={zone} />
        <TextInput {...fields.input('endMs')} type="datetime-local" label="End" description={zone} />
        <TextInput
          {...fields.input('maxRuns')}
          label="Maximum runs"
          description="The schedule ends after this number of runs"
          placeholder="unlimited"
          inputMode="numeric"
        />
      </div>
      <TagsInput
        label="Excluded dates"
        description="For example holidays: 2026-12-24. Separate dates with commas"
        placeholder={excludedDates.length === 0 ? 'yyyy-mm-dd' : undefined}
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
          label="Excluded times"
          description="One cron expression per line. Matching runs are skipped"
          placeholder="* * 24-31 12 *"
          autosize
          minRows={1}
          {...CODE_INPUT}
        />
      ) : (
        <Button variant="subtle" color="gray" className={classes.add} onClick={() => setShowsExclusions(true)}>
          Exclude times by cron expression…
        </Button>
      )}
    </>
  )
}

/** The limits in words, while the fields are collapsed. */
function limitWords(form: ScheduleTexts): string {
  return joinFacts(
    form.jitterSeconds.trim() !== '' && `jitter up to ${form.jitterSeconds}`,
    form.startMs !== '' && `from ${form.startMs.replace('T', ' ')}`,
    form.endMs !== '' && `until ${form.endMs.replace('T', ' ')}`,
    form.maxRuns.trim() !== '' && `at most ${form.maxRuns} runs`,
    form.pauseAfterFailures.trim() !== '' && `paused after ${form.pauseAfterFailures} failures`,
    (form.excludedDates.length > 0 || form.excludedCrons.trim() !== '') && 'with exclusions'
  )
}
