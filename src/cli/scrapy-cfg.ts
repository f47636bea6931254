import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { requireTrusted } from '../engine/runtime/file-trust.ts'
import { readSettingsFile } from '../engine/runtime/regular-file.ts'
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
  /** Why its password may not be sent to its address; null: it may. */
  problem: string | null
}

export interface ScrapyConfiguration {
  /** Directory of the closest scrapy.cfg; null: none up to the root. */
  projectDirectory: string | null
  targets: DeployTarget[]
}

interface Place {
  directory: string
  homeDirectory: string
  environment: Record<string, string | undefined>
}

/**
 * Reads the files that Scrapy reads, in its order; later ones take precedence (scrapy.utils.conf). Throws BAD_INPUT for
 * a file that others could have changed: its address would get the credentials.
 */
export function readScrapyConfiguration(place: Place): ScrapyConfiguration {
  const projectDirectory = closestProject(place.directory)
  const configHome = place.environment['XDG_CONFIG_HOME'] || join(place.homeDirectory, '.config')
  const ownFiles = ['/etc/scrapy.cfg', join(configHome, 'scrapy.cfg'), join(place.homeDirectory, '.scrapy.cfg')]
  const own = mergeFiles(ownFiles)
  const projectFile = projectDirectory === null ? [] : [join(projectDirectory, 'scrapy.cfg')]
  const merged = mergeFiles([...ownFiles, ...projectFile])
  const targets = [...merged.keys()].flatMap((section) => targetOf(merged, section, place.environment))
  return {
    projectDirectory,
    targets: targets.map((target) => ({ ...target, problem: problemOfPassword(target, own, place.environment) }))
  }
}

function mergeFiles(files: string[]): IniSections {
  const merged: IniSections = new Map()
  for (const file of files.filter((path) => existsSync(path))) {
    requireTrusted(file, 'use --url and name the folder of your own project.')
    for (const [section, values] of parseIni(readSettingsFile(file) ?? '').sections) {
      merged.set(section, new Map([...(merged.get(section) ?? []), ...values]))
    }
  }
  return merged
}

/** A password in the user's own files is for the address in them, not for the one that a project names. */
function problemOfPassword(target: DeployTarget, own: IniSections, environment: Place['environment']): string | null {
  const section = target.name === 'default' ? 'deploy' : `deploy:${target.name}`
  const [ours] = targetOf(own, section, environment)
  if (target.url === null || !ours?.password || ours.password !== target.password) return null
  if (ours.url !== null && URL.parse(ours.url)?.origin === URL.parse(target.url)?.origin) return null
  return `The password of [${section}] in your own scrapy.cfg is not sent to ${target.url}, which the project's scrapy.cfg names. If that is right, write url = ${target.url} beside the password.`
}

function targetOf(sections: IniSections, section: string, environment: Place['environment']): DeployTarget[] {
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
      version: get('version') as VersionName | null,
      problem: null
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
