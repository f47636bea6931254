import { expandText, type TextValues } from '../../shared/calendar/index.ts'
import type { RunItem, RunTemplate, ScheduleSettings } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** So many are written in one transaction; more than that at one moment is a mistake. */
export const JOBS_A_FIRING_MAX = 10_000

type Named = Pick<ScheduleSettings, 'name' | 'jobs'>

/** How many jobs one firing makes. */
export function countJobs(templates: readonly RunTemplate[]): number {
  const countOf = ({ spiders, argSets, matrix }: RunTemplate) =>
    [spiders, ...Object.values(matrix)].reduce((product, values) => product * values.length, argSets.length || 1)
  return templates.reduce((sum, template) => sum + countOf(template), 0)
}

/** Whether `{previous}` is asked for: finding it costs a search in the calendar. */
export function needsPrevious(templates: readonly RunTemplate[]): boolean {
  return templates.some((template) => JSON.stringify(template).includes('{previous'))
}

/** What a schedule's templates ask for at one moment. Secret values are never expanded. BAD_INPUT: too many jobs. */
export function expandTemplates({ name, jobs }: Named, placeholders: TextValues): RunItem[] {
  const count = countJobs(jobs)
  if (count > JOBS_A_FIRING_MAX) {
    const limit = `the limit is ${JOBS_A_FIRING_MAX}. Split it into several schedules`
    throw new ScrapdeckError('BAD_INPUT', `One firing of ${name} would create ${count} jobs; ${limit}`)
  }
  return jobs.flatMap((template) => expandTemplate(template, (text) => expandText(text, placeholders)))
}

/** One item for each spider, set of arguments and combination of the matrix, in this order; later sources win. */
function expandTemplate(template: RunTemplate, expand: (text: string) => string): RunItem[] {
  const { project, version, secretNames, limits, priority, nodeId, tags, retry } = template
  const settings = expandValues(template.settings)
  const argSets = template.argSets.length === 0 ? [{}] : template.argSets
  const combinations = combine(template.matrix)
  return template.spiders.flatMap((spider) =>
    argSets.flatMap((argSet) =>
      combinations.map((combination): RunItem => {
        const args = expandValues({ ...template.args, ...argSet, ...combination })
        const named = secretNames.filter((name) => Object.hasOwn(args, name) || Object.hasOwn(settings, name))
        const secret = named.length === 0 ? {} : { secretNames: named }
        const item = { project, version, spider, settings, args, ...secret, limits, priority, nodeId, tags }
        // Absent is "as the project says"; null would be "never".
        return retry === null ? item : { ...item, retry }
      })
    )
  )

  function expandValues(values: Record<string, string>): Record<string, string> {
    const entries = Object.entries(values)
    return Object.fromEntries(
      entries.map(([name, value]) => [name, secretNames.includes(name) || !value.includes('{') ? value : expand(value)])
    )
  }
}

function combine(matrix: Record<string, string[]>): Record<string, string>[] {
  let combinations: Record<string, string>[] = [{}]
  for (const [name, values] of Object.entries(matrix)) {
    combinations = combinations.flatMap((combination) => values.map((value) => ({ ...combination, [name]: value })))
  }
  return combinations
}
