import { useMay } from '../../api/use-me.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'
import { texts as permissions } from '../../../shared/texts/ui/permissions.ts'

export interface PriorityLimit {
  /** The highest priority that the user may give. Absent: any. */
  max?: number
  reason?: string
  /** The tooltip's text, which names the role that has the permission. */
  title?: string
}

/**
 * Jobs with a priority above 0 precede the jobs of all projects, so the engine accepts them only from users with the
 * permission in all projects. `kept`: the current priority of a project's defaults, which stays allowed.
 */
export function usePriorityLimit(needed: 'queue.order' | 'projects.change', kept = 0): PriorityLimit {
  const { may, why } = useMay(needed, 'everywhere')
  if (may) return {}
  const max = Math.max(0, kept)
  const reason = texts.priorityNeedsPermission(max, permissions[`label.${needed}`])
  return { max, reason, ...(why !== null && { title: why }) }
}
