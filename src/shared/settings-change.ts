import type { ProjectSettings, ProjectSettingsChange } from './contract/index.ts'

/** The settings of a project with a change applied. */
export function withSettingsChange(settings: ProjectSettings, change: ProjectSettingsChange): ProjectSettings {
  const { spiderDefaults = {}, spiderOutcomes = {}, ...others } = change
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined))
  return {
    ...settings,
    ...given,
    spiderDefaults: withEach(settings.spiderDefaults, spiderDefaults),
    spiderOutcomes: withEach(settings.spiderOutcomes, spiderOutcomes)
  }
}

function withEach<One>(all: Record<string, One>, changes: Record<string, One | null>): Record<string, One> {
  const bySpider = Object.entries({ ...all, ...changes })
  return Object.fromEntries(bySpider.filter((entry): entry is [string, One] => entry[1] !== null))
}
