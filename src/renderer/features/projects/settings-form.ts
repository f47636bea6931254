import { z } from 'zod'
import { OutcomeRules, ProjectSettings } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { RunLimitsForm, runLimitTexts } from '../../ui/fields/run-limits.ts'
import { RetryForm, retryTexts } from '../../ui/fields/retry.ts'
import { absolutePath, durationText, numberText } from '../../ui/fields/texts.ts'
import { texts as words } from '../../../shared/texts/ui/projects.ts'

const { shape } = ProjectSettings

const rules = OutcomeRules.shape

const OutcomeForm = z
  .object({
    requireResponse: z.boolean(),
    maxErrors: numberText(rules.maxErrors, null),
    minItems: numberText(rules.minItems, null),
    minPages: numberText(rules.minPages, null),
    finishReasons: z
      .string()
      .transform((text) => namesOf(text))
      .pipe(rules.finishReasons.unwrap())
  })
  .transform((texts): OutcomeRules | null => {
    const set = Object.entries(texts).filter(([, value]) => value != null && value !== false)
    return set.length === 0 ? null : Object.fromEntries(set)
  })

/** Only the fields of the chosen kind of Python are validated. The other fields keep their text. */
export const SettingsForm = z.object({
  python: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('default') }),
    z.object({ kind: z.literal('interpreter'), path: absolutePath }),
    z.object({
      kind: z.literal('requirements'),
      text: z.string().refine((text) => requirementCount(text) > 0, words.needsPackage)
    })
  ]),
  limits: RunLimitsForm,
  pinnedVersion: z.string().transform((text) => (text === '' ? null : text)),
  weight: numberText(shape.weight.unwrap()),
  paused: z.boolean(),
  retry: RetryForm,
  noOverlap: z.boolean(),
  cancelWaitSeconds: durationText(shape.cancelWaitSeconds.unwrap(), null),
  distribution: shape.distribution.unwrap(),
  outcome: OutcomeForm,
  expectations: z.boolean(),
  keepItems: z.boolean()
}) as never as z.ZodType<SettingsOfDialog, SettingsTexts>

/** Other dialogs edit the defaults and the rules of individual spiders. */
export type SettingsOfDialog = Omit<ProjectSettings, 'defaults' | 'spiderDefaults' | 'spiderOutcomes'>

export interface SettingsTexts
  extends Pick<ProjectSettings, 'paused' | 'noOverlap' | 'distribution' | 'expectations' | 'keepItems'> {
  python: { kind: ProjectSettings['python']['kind']; path: string; text: string }
  limits: ReturnType<typeof runLimitTexts>
  /** Empty: not pinned. */
  pinnedVersion: string
  weight: string
  /** `10 min`. Empty: as configured. */
  cancelWaitSeconds: string
  retry: ReturnType<typeof retryTexts>
  outcome: { requireResponse: boolean; maxErrors: string; minItems: string; minPages: string; finishReasons: string }
}

export const startSettings = ({
  python,
  limits,
  weight,
  retry,
  cancelWaitSeconds,
  pinnedVersion,
  outcome,
  ...settings
}: SettingsOfDialog): SettingsTexts => ({
  ...settings,
  pinnedVersion: pinnedVersion ?? '',
  cancelWaitSeconds: cancelWaitSeconds === null ? '' : formatDuration(cancelWaitSeconds),
  python: { path: '', text: '', ...python },
  limits: runLimitTexts(limits),
  weight: String(weight),
  retry: retryTexts(retry),
  outcome: {
    requireResponse: outcome?.requireResponse ?? false,
    maxErrors: String(outcome?.maxErrors ?? ''),
    minItems: String(outcome?.minItems ?? ''),
    minPages: String(outcome?.minPages ?? ''),
    finishReasons: outcome?.finishReasons?.join(', ') ?? ''
  }
})

export function namesOf(text: string): string[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? null : names
}

/** Returns only the changed settings, to preserve other users' changes to the other settings. */
export function changedSettings(opened: SettingsTexts, settings: SettingsOfDialog): Partial<SettingsOfDialog> {
  const before: Partial<SettingsOfDialog> = SettingsForm.safeParse(opened).data ?? {}
  const isChanged = (name: string, value: unknown) =>
    JSON.stringify(before[name as keyof SettingsOfDialog]) !== JSON.stringify(value)
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => isChanged(name, value)))
}

/** Counts packages, but not comments or pip options. */
export function requirementCount(text: string): number {
  return text.split(/\r\n|\r|\n/).filter((line) => /^\s*[^\s#-]/.test(line)).length
}
