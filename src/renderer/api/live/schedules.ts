import type { Schedule, ScheduleId } from '../../../shared/contract/index.ts'
import type { Api } from '../api.tsx'
import { type DataOf, type NounUpdates, type Pages, patch, patchPages, refetch } from './query-updates.ts'

type SchedulePage = DataOf<Api['query']['schedules']['list']>
type ById = ReadonlyMap<string, Schedule | null>

export const schedules: NounUpdates<'schedules'> = {
  thingOf: (change) => (change.kind === 'schedule' ? change.schedule.id : change.id),
  updates: (changes, query) => {
    const byId = new Map(
      changes.map((change) => (change.kind === 'schedule' ? [change.schedule.id, change.schedule] : [change.id, null]))
    )
    return [
      patchPages(
        query.schedules.list,
        (data) => updateRows(data, byId),
        (_data, _input, before) => hasNewPlaces(before, byId)
      ),
      patch(query.schedules.get, (data, { id }) => byId.get(id as ScheduleId) ?? data),
      // The run times may have changed, and the history may have a new row.
      ...refetch(query.schedules.firings, query.schedules.calendar, query.schedules.load)
    ]
  }
}

/**
 * Whether a schedule is new or was renamed. Rows are sorted by name, and only the engine knows where the schedule
 * belongs and whether the filter matches it.
 */
function hasNewPlaces(data: Pages<SchedulePage>, byId: ById): boolean {
  const rows = new Map(pagesOf(data).flatMap((page) => page.schedules.map((row) => [row.id, row])))
  return [...byId.values()].some((schedule) => schedule !== null && rows.get(schedule.id)?.name !== schedule.name)
}

function updateRows(data: Pages<SchedulePage>, byId: ById): Pages<SchedulePage> {
  const rowsOf = (page: SchedulePage) =>
    page.schedules.flatMap((row) => {
      const change = byId.get(row.id)
      return change === undefined ? [row] : change === null ? [] : [change]
    })
  const isTouched = (page: SchedulePage) => page.schedules.some(({ id }) => byId.has(id))
  const gone = pagesOf(data).flatMap((page) => page.schedules.filter(({ id }) => byId.get(id) === null)).length
  const update = (page: SchedulePage): SchedulePage =>
    gone === 0 && !isTouched(page) ? page : { ...page, schedules: rowsOf(page), total: page.total - gone }
  if (!pagesOf(data).some(isTouched)) return data
  return 'pages' in data ? { ...data, pages: data.pages.map(update) } : update(data)
}

const pagesOf = (data: Pages<SchedulePage>) => ('pages' in data ? data.pages : [data])
