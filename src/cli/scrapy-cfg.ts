import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { ProjectName, VersionName } from '../shared/contract/index.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { type IniSections, parseIni, resolveIniValue } from '../shared/ini.ts'

/** A `[deploy]` or `[deploy:NAME]` section of scrapy.cfg. Values that are not set are null. */
export interface DeployTarget {
  /** `default` for `[deploy]`. */
  name: string
  url: string | null
  username: string | null
  password: string | null
  project: ProjectName | null
  version: VersionName | null
}

export interface ScrapyConfiguration {
  /** Directory of the closest scrapy.cfg; null: none up to the root. */
  projectDirectory: string | null
  targets: DeployTarget[]
}

/** Reads the files that Scrapy reads, in its order; later ones take precedence (scrapy.utils.conf). */
export function readScrapyConfiguration(place: {
  directory: string
  homeDirectory: string
  environment: Record<string, string | undefined>
}): ScrapyConfiguration {
  const projectDirectory = closestProject(place.directory)
  const configHome = place.environment['XDG_CONFIG_HOME'] || join(place.homeDirectory, '.config')
  const files = [
    '/etc/scrapy.cfg',
    join(configHome, 'scrapy.cfg'),
    join(place.homeDirectory, '.scrapy.cfg'),
    ...(projectDirectory === null ? [] : [join(projectDirectory, 'scrapy.cfg')])
  ]
  const merged: IniSections = new Map()
  for (const file of files.filter((path) => existsSync(path))) {
    for (const [section, values] of parseIni(readFileSync(file, 'utf8')).sections) {
      merged.set(section, new Map([...(merged.get(section) ?? []), ...values]))
    }
  }
  return {
    projectDirectory,
    targets: [...merged.keys()].flatMap((section) => targetOf(merged, section, place.environment))
  }
}

function targetOf(
  sections: IniSections,
  section: string,
  environment: Record<string, string | undefined>
): DeployTarget[] {
  const name = /^deploy(?::(.+))?$/.exec(section)
  if (name === null) return []
  const get = (key: string) => {
    // Like scrapyd-deploy: [deploy] has the defaults of all targets. An empty user name overrides it (for ~/.netrc).
    const value = valueOf(sections, section, key) ?? valueOf(sections, 'deploy', key)
    return value === null || value === '' ? null : expandVariables(value, environment)
  }
  return [
    {
      name: name[1] ?? 'default',
      url: get('url'),
      username: get('username'),
      password: get('password'),
      project: get('project') as ProjectName | null,
      version: get('version') as VersionName | null
    }
  ]
}

/** `$NAME` and `${NAME}` like Python's os.path.expandvars: unset variables stay as they are. */
function expandVariables(text: string, environment: Record<string, string | undefined>): string {
  return text.replaceAll(
    /\$(?:(\w+)|\{([^}]*)\})/g,
    (whole, plain: string | undefined, braced: string | undefined) => environment[plain ?? braced ?? ''] ?? whole
  )
}

function valueOf(sections: IniSections, section: string, key: string): string | null {
  try {
    return resolveIniValue(sections, section, key)
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    throw new ScrapdeckError('BAD_INPUT', `${key} of [${section}] in scrapy.cfg cannot be read: ${what}.`, {
      cause: error
    })
  }
}

function closestProject(directory: string): string | null {
  for (let place = resolve(directory); ; place = dirname(place)) {
    if (existsSync(join(place, 'scrapy.cfg'))) return place
    if (dirname(place) === place) return null
  }
}
