import { Group, Stack, TextInput } from '@mantine/core'
import { formatMoment } from '../../ui/moment.ts'
import form from '../../ui/fields/form.module.css'
import { ChoiceField, optionsOf } from '../../ui/fields/choice-field.tsx'
import type { Fields } from '../../ui/fields/form-of-schema.ts'
import classes from './run-dialog.module.css'
import type { RunTexts } from './run-form.ts'
import { previewTimes, type WhenTexts } from './run-when-form.ts'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { texts } from '../../../shared/texts/ui/run.ts'

interface RunWhenProps {
  fields: Fields<RunTexts>
  usualName: string | undefined
}

const EXAMPLES = [
  { expression: '0 3 * * *', words: texts.everyNight },
  { expression: '0 * * * *', words: texts.everyHour },
  { expression: '*/15 * * * *', words: texts.every15Minutes },
  { expression: '0 8 * * 1-5', words: texts.onWeekdays }
]

export function RunWhen({ fields, usualName }: RunWhenProps) {
  const when = fields.within('when')
  const { kind } = when.values
  const problem = when.error('expression')
  return (
    <Stack gap={8}>
      <Group align="flex-end" gap="10px 12px" className={classes.where}>
        <ChoiceField
          {...when.input('kind')}
          label={texts.when}
          data={optionsOf({ now: texts.now, at: texts.atTime, cron: texts.onSchedule })}
        />
        {kind === 'at' && (
          <TextInput
            {...fields.input('notBeforeMs')}
            type="datetime-local"
            aria-label={texts.startTime}
            title={texts.startTimeHint}
            autoFocus={fields.values.notBeforeMs === ''}
          />
        )}
        {kind === 'cron' && (
          <TextInput
            {...when.input('expression')}
            flex={1}
            miw={140}
            aria-label={texts.cronExpression}
            aria-describedby="run-when-words"
            error={problem !== undefined}
            {...CODE_INPUT}
            autoFocus
          />
        )}
      </Group>
      {kind === 'cron' && (
        <>
          <Ahead when={when.values} problem={problem} />
          <div className={form.suggestions}>
            {EXAMPLES.map(({ expression, words }) => (
              <button key={expression} type="button" onClick={() => when.change({ expression })} title={expression}>
                {words}
              </button>
            ))}
          </div>
          <TextInput {...when.input('name')} label={texts.scheduleName} placeholder={usualName} maxLength={200} />
        </>
      )}
    </Stack>
  )
}

function Ahead({ when, problem }: { when: WhenTexts; problem: string | undefined }) {
  const nowMs = Date.now()
  const ahead = previewTimes(when, nowMs)
  return (
    <span id="run-when-words" role="status" className={classes.ahead}>
      {problem !== undefined && <span className="tone-bad">{problem}</span>}
      {problem === undefined && ahead !== null && (
        <>
          <strong className="semibold">{ahead.words}</strong>{' '}
          <span className="dim">
            {ahead.next.length === 0
              ? texts.zone(when.zone)
              : texts.zoneAndNext(when.zone, ahead.next.map((atMs) => formatMoment(atMs, nowMs)).join(' · '))}
          </span>
        </>
      )}
    </span>
  )
}
