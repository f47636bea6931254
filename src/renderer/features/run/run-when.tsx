import { SegmentedControl, TextInput } from '@mantine/core'
import { formatMoment } from '../../ui/waiting.tsx'
import classes from './run-dialog.module.css'
import { lookAhead, type WhenForm } from './run-when-form.ts'

interface RunWhenProps {
  form: WhenForm
  notBefore: string
  /** What the schedule is called where it is given no name. */
  usualName: string
  onChange: (patch: Partial<WhenForm>) => void
  onNotBefore: (notBefore: string) => void
}

const EXAMPLES = [
  { expression: '0 3 * * *', words: 'every night' },
  { expression: '0 * * * *', words: 'every hour' },
  { expression: '*/15 * * * *', words: 'every 15 min' },
  { expression: '0 8 * * 1-5', words: 'on weekdays' }
]

/** Now, later, or again and again. */
export function RunWhen({ form, notBefore, usualName, onChange, onNotBefore }: RunWhenProps) {
  return (
    <div className={classes.when}>
      <div className={classes.where}>
        <div>
          <span className={classes.label} id="run-when">
            When
          </span>
          <SegmentedControl
            aria-labelledby="run-when"
            value={form.kind}
            onChange={(kind) => onChange({ kind: kind as WhenForm['kind'] })}
            data={[
              { value: 'now', label: 'Now' },
              { value: 'at', label: 'At a time' },
              { value: 'cron', label: 'On a schedule' }
            ]}
          />
        </div>
        {form.kind === 'at' && (
          <TextInput
            type="datetime-local"
            aria-label="Not before"
            title="It waits in the queue until then"
            value={notBefore}
            onChange={(event) => onNotBefore(event.currentTarget.value)}
            autoFocus={notBefore === ''}
          />
        )}
        {form.kind === 'cron' && (
          <TextInput
            className={classes.tags}
            aria-label="Cron expression"
            aria-describedby="run-when-words"
            value={form.expression}
            onChange={(event) => onChange({ expression: event.currentTarget.value })}
            classNames={{ input: 'mono' }}
            spellCheck={false}
            autoFocus
          />
        )}
      </div>
      {form.kind === 'cron' && (
        <>
          <Ahead form={form} />
          <div className={classes.tagList}>
            {EXAMPLES.map(({ expression, words }) => (
              <button key={expression} type="button" onClick={() => onChange({ expression })} title={expression}>
                {words}
              </button>
            ))}
          </div>
          <TextInput
            label="Name of the schedule"
            placeholder={usualName}
            value={form.name}
            maxLength={200}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
          />
        </>
      )}
    </div>
  )
}

function Ahead({ form }: { form: WhenForm }) {
  const nowMs = Date.now()
  const ahead = lookAhead(form, nowMs)
  return (
    <span id="run-when-words" role="status" className={classes.ahead}>
      {ahead !== null && (
        <>
          <strong>{ahead.words}</strong>{' '}
          <span className="dim">
            ({form.zone})
            {ahead.next.length > 0 && ` · next ${ahead.next.map((atMs) => formatMoment(atMs, nowMs)).join(' · ')}`}
          </span>
        </>
      )}
    </span>
  )
}
