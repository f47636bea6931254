import { TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import { describeRule, problemOfCron } from '../../../../shared/calendar/index.ts'
import { BuilderFields } from './builder-fields.tsx'
import classes from './editor.module.css'
import { readWords } from './read-words.ts'

interface CronEditorProps {
  expression: string
  zone: string
  /** Added to the labels if there are several rules: `of rule 2`. */
  of: string
  onChange: (expression: string) => void
}

/** The expression, its words and the builder: whichever is changed, the others follow at once. */
export function CronEditor({ expression, zone, of, onChange }: CronEditorProps) {
  const id = useId()
  // Words stay as typed while the field has the focus; then the calendar's description replaces them.
  const [draft, setDraft] = useState<string | null>(null)
  const problem = problemOfCron(expression)
  const said = problem === null ? describeRule({ kind: 'cron', expression }, zone) : ''
  const read = draft === null ? null : readWords(draft)
  const misunderstood = read !== null && 'problem' in read ? read.problem : null
  const problemOfWords = draft !== null && draft.trim() !== '' ? misunderstood : null
  return (
    <div className={classes.cron}>
      <TextInput
        label="Expression"
        aria-label={`Cron expression${of}`}
        value={expression}
        onChange={(event) => {
          setDraft(null)
          onChange(event.currentTarget.value)
        }}
        error={problem}
        classNames={{ input: classes.expression }}
        rightSection={<span className={classes.zone}>{zone}</span>}
        rightSectionWidth="auto"
        spellCheck={false}
        autoComplete="off"
        maxLength={200}
      />
      <TextInput
        label="In words"
        aria-label={`In words${of}`}
        value={draft ?? said}
        placeholder="every weekday at 3:00"
        onChange={(event) => {
          const text = event.currentTarget.value
          setDraft(text)
          const understood = readWords(text)
          if ('expression' in understood) onChange(understood.expression)
        }}
        onBlur={() => setDraft(null)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
          event.preventDefault()
          setDraft(null)
        }}
        error={problemOfWords !== null}
        aria-describedby={`${id}-words`}
        classNames={{ input: classes.words }}
        spellCheck={false}
        autoComplete="off"
      />
      {/* Always rendered: a line that appears and disappears would move the buttons below away from the pointer. */}
      <p
        id={`${id}-words`}
        className={classes.wordsHint}
        data-wrong={problemOfWords !== null || undefined}
        role="status"
      >
        {problemOfWords ?? 'Examples: “every 15 minutes between 8 and 18”, “last day of the month at 23:30”'}
      </p>
      <BuilderFields
        expression={expression}
        of={of}
        onChange={(next) => {
          setDraft(null)
          onChange(next)
        }}
      />
    </div>
  )
}
