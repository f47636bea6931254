import type { ProjectSettings, ProjectSettingsChange } from './contract/index.ts'

/** The settings of a project with a change applied. */
export function withSettingsChange(settings: ProjectSettings, change: ProjectSettingsChange): ProjectSettings {
  const { spiderDefaults = {}, ...others } = change
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined))
  const bySpider = Object.entries({ ...settings.spiderDefaults, ...spiderDefaults })
  const kept = bySpider.filter((entry): entry is [string, NonNullable<(typeof entry)[1]>] => entry[1] !== null)
  return { ...settings, ...given, spiderDefaults: Object.fromEntries(kept) }
}
