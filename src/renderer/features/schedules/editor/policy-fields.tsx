import { Button, TagsInput, Textarea, TextInput } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { type ChangeEvent, useState } from 'react'
import { CATCH_UP_WORDS, OVERLAP_WORDS } from '../schedule-words.ts'
import classes from './editor.module.css'
import type { ScheduleForm } from './schedule-form.ts'

interface PolicyFieldsProps {
  form: ScheduleForm
  onChange: (patch: Partial<ScheduleForm>) => void
}

/** What happens when a run meets the one before, when the engine was off, and when it all ends. */
export function PolicyFields({ form, onChange }: PolicyFieldsProps) {
  const limits = limitWords(form)
  const [isOpen, setOpen] = useState(false)
  return (
    <div className={classes.policies}>
      <Choice
        label="If the last run is still going"
        choices={OVERLAP_WORDS}
        value={form.overlap}
        onChange={(overlap) => onChange({ overlap })}
      />
      <Choice
        label="If the engine was off"
        choices={CATCH_UP_WORDS}
        value={form.catchUp}
        onChange={(catchUp) => onChange({ catchUp })}
      >
        {form.catchUp !== 'none' && (
          <span className={classes.line}>
            within
            <TextInput
              aria-label="Catch-up window"
              w={84}
              value={form.catchUpWindow}
              onChange={(event) => onChange({ catchUpWindow: event.currentTarget.value })}
            />
          </span>
        )}
      </Choice>
      <Choice
        label="If clocks leave its time out"
        choices={GAP_WORDS}
        value={form.gap}
        onChange={(gap) => onChange({ gap })}
      />
      <Choice
        label="If clocks show its time twice"
        choices={DOUBLED_WORDS}
        value={form.doubled}
        onChange={(doubled) => onChange({ doubled })}
      />
      <section className={classes.more}>
        <button type="button" className={classes.moreHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <IconChevronRight size={14} aria-hidden />
          <strong>Limits</strong>{' '}
          <span className="ellipsis dim">
            {limits === '' ? 'jitter, start and end, exclusions, pause after failures' : limits}
          </span>
        </button>
        {isOpen && <LimitFields form={form} onChange={onChange} />}
      </section>
    </div>
  )
}

const GAP_WORDS: Record<ScheduleForm['gap'], { word: string; text: string }> = {
  run_at_shift: { word: 'run at the change', text: 'At the moment when clocks go forward.' },
  skip: { word: 'skip', text: 'That day has no run.' }
}
const DOUBLED_WORDS: Record<ScheduleForm['doubled'], { word: string; text: string }> = {
  run_once: { word: 'run once', text: 'The first time that clocks show it.' },
  run_twice: { word: 'run twice', text: 'Both times.' }
}

function Choice<Value extends string>({
  label,
  choices,
  value,
  onChange,
  children
}: {
  label: string
  choices: Record<Value, { word: string; text: string }>
  value: Value
  onChange: (value: Value) => void
  children?: React.ReactNode
}) {
  return (
    <fieldset className={classes.choice}>
      <legend>{label}</legend>
      <div className={classes.chips}>
        {(Object.entries(choices) as [Value, { word: string; text: string }][]).map(([each, { word, text }]) => (
          <button key={each} type="button" aria-pressed={each === value} title={text} onClick={() => onChange(each)}>
            {word}
          </button>
        ))}
        {children}
      </div>
      <p className="dim">{choices[value].text}</p>
    </fieldset>
  )
}

function LimitFields({ form, onChange }: PolicyFieldsProps) {
  const [showsExclusions, setShowsExclusions] = useState(form.excludedCrons !== '')
  const text = (field: 'jitter' | 'pauseAfterFailures' | 'start' | 'end' | 'maxRuns' | 'excludedCrons') => ({
    value: form[field],
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onChange({ [field]: event.currentTarget.value })
  })
  return (
    <div className={classes.limits}>
      <div className={classes.pair}>
        <TextInput
          label="Jitter"
          description="Fires up to so much later; always by the same for this schedule"
          placeholder="none"
          {...text('jitter')}
        />
        <TextInput
          label="Pause after failures"
          description="So many runs in a row that failed"
          placeholder="never"
          inputMode="numeric"
          {...text('pauseAfterFailures')}
        />
        <TextInput type="datetime-local" label="Not before" description={form.zone} {...text('start')} />
        <TextInput type="datetime-local" label="Not after" description={form.zone} {...text('end')} />
        <TextInput
          label="Ends after"
          description="So many runs"
          placeholder="never"
          inputMode="numeric"
          {...text('maxRuns')}
        />
      </div>
      <TagsInput
        label="Not on these days"
        description="Holidays: 2026-12-24, several with commas"
        placeholder={form.excludedDates.length === 0 ? 'yyyy-mm-dd' : undefined}
        splitChars={[',', ' ', ';']}
        value={[...form.excludedDates]}
        onChange={(days) =>
          onChange({ excludedDates: [...new Set(days.filter((day) => /^\d{4}-\d\d-\d\d$/.test(day)))].sort() })
        }
      />
      {showsExclusions ? (
        <Textarea
          label="Not when one of these expressions fits"
          description="One cron expression a line"
          placeholder="* * 24-31 12 *"
          autosize
          minRows={1}
          {...text('excludedCrons')}
          classNames={{ input: 'mono' }}
          spellCheck={false}
        />
      ) : (
        <Button variant="subtle" color="gray" className={classes.add} onClick={() => setShowsExclusions(true)}>
          Leave out by a cron expression…
        </Button>
      )}
    </div>
  )
}

/** What is limited, while the fields are folded away. */
function limitWords(form: ScheduleForm): string {
  return [
    form.jitter.trim() !== '' && `up to ${form.jitter} later`,
    form.start !== '' && `from ${form.start.replace('T', ' ')}`,
    form.end !== '' && `until ${form.end.replace('T', ' ')}`,
    form.maxRuns.trim() !== '' && `${form.maxRuns} runs at most`,
    form.pauseAfterFailures.trim() !== '' && `paused after ${form.pauseAfterFailures} failures`,
    (form.excludedDates.length > 0 || form.excludedCrons.trim() !== '') && 'with exclusions'
  ]
    .filter(Boolean)
    .join(' · ')
}
