/** The list of alerts of an engine, or one of them, as an address of the app. `engineId`: null for the app's own. */
export const viewOfAlerts = (engineId: string | null, alertId?: string): string =>
  `${engineId === null ? '' : `?engine=${engineId}`}#/alerts${alertId === undefined ? '' : `?alert=${encodeURIComponent(alertId)}`}`
