import { expandText, type TextValues } from '../../shared/calendar/index.ts'
import type { RunItem, RunTemplate, ScheduleSettings } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** Most jobs of one firing, all written in one transaction; more at one moment is a mistake. */
export const JOBS_A_FIRING_MAX = 10_000

type Named = Pick<ScheduleSettings, 'name' | 'jobs'>

/** Number of jobs per firing. */
export function countJobs(templates: readonly RunTemplate[]): number {
  const countOf = ({ spiders, argSets, matrix }: RunTemplate) =>
    [spiders, ...Object.values(matrix)].reduce((product, values) => product * values.length, argSets.length || 1)
  return templates.reduce((sum, template) => sum + countOf(template), 0)
}

/** Whether `{previous}` is used: computing it takes a calendar search. */
export function needsPrevious(templates: readonly RunTemplate[]): boolean {
  return templates.some((template) => JSON.stringify(template).includes('{previous'))
}

/** The jobs that a schedule's templates define for one moment. Secret values are not expanded. BAD_INPUT: too many. */
export function expandTemplates({ name, jobs }: Named, placeholders: TextValues): RunItem[] {
  const count = countJobs(jobs)
  if (count > JOBS_A_FIRING_MAX) {
    const limit = `the limit is ${JOBS_A_FIRING_MAX}. Split it into several schedules`
    throw new ScrapdeckError('BAD_INPUT', `One firing of ${name} would create ${count} jobs; ${limit}`)
  }
  return jobs.flatMap((template) => expandTemplate(template, (text) => expandText(text, placeholders)))
}

/** One item per spider, argument set and matrix combination, in this order; later sources override earlier ones. */
function expandTemplate(template: RunTemplate, expand: (text: string) => string): RunItem[] {
  const { project, version, secretNames, limits, priority, nodeId, tags, retry, userId } = template
  const settings = expandValues(template.settings)
  // What a template leaves at its default may come from the defaults of the project or spider.
  const placement = {
    ...(priority !== 0 && { priority }),
    ...((nodeId !== null || tags.length > 0) && { nodeId, tags })
  }
  const argSets = template.argSets.length === 0 ? [{}] : template.argSets
  const combinations = combine(template.matrix)
  return template.spiders.flatMap((spider) =>
    argSets.flatMap((argSet) =>
      combinations.map((combination): RunItem => {
        const args = expandValues({ ...template.args, ...argSet, ...combination })
        const named = secretNames.filter((name) => Object.hasOwn(args, name) || Object.hasOwn(settings, name))
        const secret = named.length === 0 ? {} : { secretNames: named }
        const item = { project, version, spider, settings, args, ...secret, ...placement, limits, userId }
        // Absent: the project's default applies; null would mean "never".
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
