import { problemOfText } from '../../../shared/calendar/index.ts'
import type { RunTemplate } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { problemOfRunLimits } from '../../../shared/run-limits.ts'
import { asActorMayRun, refuseHighPriority } from '../../access/acting.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { problemOfShownName, showUnseen } from '../../../shared/unseen.ts'
import { checkArguments, checkNames, checkNode, refuseUnrunnable } from './prepare-jobs.ts'

/**
 * Returns the template as the actor may store it. Does not check what is deployed, because a fleet file can be applied
 * before the first egg is uploaded. Throws BAD_INPUT, ARGUMENT_RESERVED, NODE_NOT_FOUND or ROLE_REQUIRED.
 */
export function checkTemplate(
  template: RunTemplate,
  place: 'schedule' | 'chain' | 'crawl',
  fleet: Pick<Fleet, 'get'>
): RunTemplate {
  const allowed = asActorMayRun(template, { isCrawl: place === 'crawl' })
  refuseHighPriority(template.priority)
  const { settings, args, argSets, matrix, secretNames, limits, nodeId } = allowed
  for (const name of [template.project, ...template.spiders, ...(template.userId == null ? [] : [template.userId])]) {
    const problem = problemOfShownName(name)
    if (problem !== null)
      throw new ScrapdeckError('BAD_INPUT', sentence('api.name_invalid', { name: showUnseen(name), problem }))
  }
  for (const spider of template.spiders) refuseUnrunnable({ project: template.project, spider })
  const lists = [args, ...argSets, matrix]
  checkNames(settings, 'settings')
  for (const values of lists) checkArguments(values)
  for (const [name, value] of [settings, ...lists].flatMap((values) => Object.entries(values))) {
    // Placeholders in secret values are not replaced.
    if (secretNames.includes(name)) continue
    for (const text of [value].flat()) {
      const problem = problemOfText(text, place === 'chain' ? 'chain' : 'schedule')
      if (problem !== null) throw new ScrapdeckError('BAD_INPUT', sentence('api.value_invalid', { name, problem }))
    }
  }
  const problem = problemOfRunLimits(limits)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
  if (nodeId !== null) checkNode(nodeId, fleet)
  return allowed
}
