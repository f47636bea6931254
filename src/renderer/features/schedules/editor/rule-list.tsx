import { ActionIcon, Button, Group, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { Fields } from '../../../ui/fields/form-of-schema.ts'
import classes from './editor.module.css'
import { newRule, type ScheduleTexts } from './schedule-form.ts'
import { optionsOf } from '../../../ui/fields/choice-field.tsx'
import { useId, useState } from 'react'
import { describeRule, problemOfCron } from '../../../../shared/calendar/index.ts'
import { BuilderFields } from './builder-fields.tsx'
import { readWords } from './read-words.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'
import { texts as calendar } from '../../../../shared/texts/ui/calendar.ts'
import { textOfProblem } from '../../../api/in-language.ts'

const RULES_MAX = 20

export function RuleList({ fields }: { fields: Fields<ScheduleTexts> }) {
  const { rules, zone } = fields.values
  return (
    <Stack gap={12} className={classes.rules}>
      {rules.map((rule, index) => {
        const ruleNumber = rules.length > 1 ? index + 1 : null
        const its = fields.within('rules').within(index)
        return (
          <section key={rule.key} className={classes.rule} aria-label={texts.ruleNumber(index + 1)}>
            <Group gap={8} justify="space-between" wrap="nowrap">
              <SegmentedControl
                {...its.input('kind')}
                aria-label={texts.kindOf(ruleNumber)}
                data={optionsOf({ cron: texts.cron, interval: texts.interval, once: texts.once })}
              />
              {rules.length > 1 && (
                <ActionIcon
                  aria-label={texts.removeRule(index + 1)}
                  onClick={() => fields.change({ rules: rules.filter(({ key }) => key !== rule.key) })}
                >
                  <IconX size={14} />
                </ActionIcon>
              )}
            </Group>
            {rule.kind === 'cron' && (
              <CronEditor
                expression={rule.expression}
                zone={zone}
                ruleNumber={ruleNumber}
                onChange={(expression) => its.change({ expression })}
              />
            )}
            {rule.kind === 'interval' && (
              <div className={classes.pair}>
                <TextInput
                  {...its.input('everySeconds')}
                  label={texts.every}
                  aria-label={texts.everyOf(ruleNumber)}
                  description={texts.everyHint}
                />
                <TextInput
                  {...its.input('anchorMs')}
                  type="datetime-local"
                  step={1}
                  label={texts.countedFrom}
                  aria-label={texts.countedFromOf(ruleNumber)}
                  description={zone}
                />
              </div>
            )}
            {rule.kind === 'once' && (
              <TextInput
                {...its.input('atMs')}
                type="datetime-local"
                step={1}
                label={texts.runAt}
                aria-label={texts.runAtOf(ruleNumber)}
                description={zone}
                maw={260}
              />
            )}
          </section>
        )
      })}
      {rules.length < RULES_MAX && (
        <Button
          variant="subtle"
          color="gray"
          className={classes.add}
          leftSection={<IconPlus size={14} />}
          onClick={() => fields.change({ rules: [...rules, newRule(zone, Date.now(), { expression: '0 12 * * *' })] })}
        >
          {texts.addRule}
        </Button>
      )}
    </Stack>
  )
}

interface CronEditorProps {
  expression: string
  zone: string
  /** For the labels; null if there is only one rule. */
  ruleNumber: number | null
  onChange: (expression: string) => void
}

/** A change to the expression, its words or the builder updates the other two immediately. */
function CronEditor({ expression, zone, ruleNumber, onChange }: CronEditorProps) {
  const id = useId()
  // Words stay as typed while the field has the focus. Afterwards, the calendar's description replaces them.
  const [draft, setDraft] = useState<string | null>(null)
  const problem = problemOfCron(expression)
  const said = problem === null ? describeRule({ kind: 'cron', expression }, zone, calendar) : ''
  const read = draft === null ? null : readWords(draft)
  const misunderstood = read !== null && 'problem' in read ? read.problem : null
  const problemOfWords = draft !== null && draft.trim() !== '' ? misunderstood : null
  return (
    <Stack gap={10}>
      <TextInput
        label={texts.expression}
        aria-label={texts.cronExpression(ruleNumber)}
        value={expression}
        onChange={(event) => {
          setDraft(null)
          onChange(event.currentTarget.value)
        }}
        error={textOfProblem(problem)}
        classNames={{ input: classes.expression }}
        rightSection={<span className={`${classes.zone} faint small`}>{zone}</span>}
        rightSectionWidth="auto"
        spellCheck={false}
        autoComplete="off"
        maxLength={200}
      />
      <TextInput
        label={texts.inWords}
        aria-label={texts.inWordsOf(ruleNumber)}
        value={draft ?? said}
        placeholder={texts.inWordsExample}
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
      {/* Always rendered, because a line that appears and disappears would move the buttons away from the pointer. */}
      <p
        id={`${id}-words`}
        className={`${classes.wordsHint} faint small`}
        data-wrong={problemOfWords !== null || undefined}
        role="status"
      >
        {problemOfWords ?? texts.inWordsHint}
      </p>
      <BuilderFields
        expression={expression}
        ruleNumber={ruleNumber}
        onChange={(next) => {
          setDraft(null)
          onChange(next)
        }}
      />
    </Stack>
  )
}
