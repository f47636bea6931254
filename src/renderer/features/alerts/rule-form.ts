import { z } from 'zod'
import {
  type AlertRule,
  AlertRuleSettings,
  type AlertScope,
  type AlertSeverity,
  type AlertGrouping
} from '../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch, SCOPE_OF, type ScopeField } from '../../../shared/alert-watches.ts'
import { formatDuration } from '../../../shared/time.ts'
import { formBy, durationText, numberText } from '../../ui/fields/texts.ts'
import { capitalised, conditionWords, type Names } from './alert-words.ts'
import { texts as words } from '../../../shared/texts/ui/alerts.ts'

/** null: any. */
export type ScopeTexts = Record<ScopeField, string | null>

export interface RuleTexts extends ScopeTexts {
  name: string
  watch: AlertWatch
  comparison: AlertRuleSettings['comparison']
  threshold: string | number
  forSeconds: string
  severity: AlertSeverity
  owner: string
  channels: string[]
  groupBy: AlertGrouping
  gatherSeconds: string
  /** Empty: the message is not repeated. */
  repeatSeconds: string
  /** Empty: there is no escalation. */
  escalateAfter: string
  escalateTo: string[]
}

const ANYTHING: ScopeTexts = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

const durationOf = (seconds: number | null | undefined): string => (seconds ? formatDuration(seconds) : '')

export function usualOf(watch: AlertWatch) {
  const { compares, usual } = ALERT_WATCHES[watch]
  return {
    watch,
    comparison: compares[0],
    threshold: usual.threshold,
    severity: usual.severity,
    forSeconds: durationOf(usual.forSeconds)
  }
}

export function startRule(given: Partial<AlertRuleSettings>): RuleTexts {
  const { watch = 'spider_fails', escalation, forSeconds, gatherSeconds = 30, repeatSeconds = 14_400 } = given
  const usual = usualOf(watch)
  return {
    ...ANYTHING,
    name: '',
    owner: '',
    groupBy: 'rule',
    ...usual,
    ...withoutUndefined(given, ['name', 'comparison', 'threshold', 'severity', 'owner', 'groupBy']),
    ...withoutUndefined(given, ['project', 'spider', 'scheduleId', 'nodeId', 'nodeTag']),
    channels: [...(given.channels ?? [])],
    forSeconds: forSeconds === undefined ? usual.forSeconds : durationOf(forSeconds),
    gatherSeconds: durationOf(gatherSeconds),
    repeatSeconds: durationOf(repeatSeconds),
    escalateAfter: durationOf(escalation?.afterSeconds),
    escalateTo: [...(escalation?.channels ?? [])]
  }
}

const withoutUndefined = <Of extends object, Name extends keyof Of>(of: Of, names: readonly Name[]) =>
  Object.fromEntries(names.flatMap((name) => (of[name] === undefined ? [] : [[name, of[name]]]))) as Partial<
    Pick<Of, Name>
  >

export const copyOf = ({ name, ...rule }: AlertRule): Partial<AlertRuleSettings> => ({
  ...rule,
  name: words.copy(name)
})

const { shape } = AlertRuleSettings
const scopeText = <Value>(of: z.ZodType<Value, string | null>) =>
  z
    .string()
    .nullable()
    .transform((text) => text?.trim() || null)
    .pipe(of)

const Escalation = shape.escalation.unwrap().unwrap().shape

/** `names` are for the default name of the rule. */
export const ruleForm = (names: Names): z.ZodType<Omit<AlertRuleSettings, 'enabled'>, RuleTexts> =>
  formBy<Omit<AlertRuleSettings, 'enabled'>, RuleTexts>((texts) => {
    const fits = SCOPE_OF[texts.watch]
    const isYesNo = ALERT_WATCHES[texts.watch].unit === 'yes_no'
    return z
      .object({
        name: z.string().trim().max(200),
        watch: shape.watch,
        comparison: shape.comparison,
        threshold: isYesNo ? z.unknown().transform(() => 1) : numberText(shape.threshold),
        forSeconds: durationText(shape.forSeconds, 0),
        severity: shape.severity,
        owner: z.string().trim().pipe(shape.owner.unwrap()),
        channels: shape.channels,
        groupBy: shape.groupBy,
        gatherSeconds: durationText(shape.gatherSeconds.unwrap(), 0),
        repeatSeconds: durationText(shape.repeatSeconds.unwrap(), null),
        escalateAfter: durationText(Escalation.afterSeconds.nullable(), null),
        escalateTo: z.array(z.string()),
        project: scopeText(shape.project.unwrap()),
        spider: scopeText(shape.spider.unwrap()),
        scheduleId: scopeText(shape.scheduleId.unwrap()),
        nodeId: scopeText(shape.nodeId.unwrap()),
        nodeTag: scopeText(shape.nodeTag.unwrap())
      })
      .check(({ value, issues }) => {
        const add = (path: string, message: string) =>
          issues.push({ code: 'custom', message, path: [path], input: value })
        if (value.watch === 'spider_overdue') {
          if (value.project === null) add('project', words.chooseProject)
          if (value.spider === null) add('spider', words.chooseSpider)
        }
        if (value.escalateAfter === null && value.escalateTo.length > 0) add('escalateAfter', words.enterEscalateAfter)
        if (value.escalateAfter !== null && value.escalateTo.length === 0) add('escalateTo', words.chooseEscalateTo)
      })
      .transform(({ escalateAfter, escalateTo, ...rule }) => {
        const scope = Object.fromEntries(
          (Object.keys(ANYTHING) as ScopeField[]).map((field) => [field, fits.includes(field) ? rule[field] : null])
        ) as unknown as AlertScope
        const settings = {
          ...rule,
          ...scope,
          escalation: escalateAfter === null ? null : { afterSeconds: escalateAfter, channels: escalateTo }
        } as Omit<AlertRuleSettings, 'enabled'>
        return { ...settings, name: settings.name || nameOf(settings, names) }
      }) as never
  })

/** `A run of prices/otto fails or is lost` */
export const nameOf = (rule: Parameters<typeof conditionWords>[0], names: Names): string =>
  capitalised(conditionWords(rule, names)).slice(0, 200)
