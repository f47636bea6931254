import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { requireTrusted } from '../engine/runtime/file-trust.ts'
import { readSettingsFile } from '../engine/runtime/regular-file.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { type IniSections, parseIni, resolveIniValue } from '../shared/ini.ts'
import type { WrittenValue } from './target-variables.ts'

/** A `[deploy]` or `[deploy:NAME]` section of scrapy.cfg. Values that are not set are null. */
export interface DeployTarget {
  /** `default` for `[deploy]`. */
  name: string
  /** As written in the file, including variables (target-variables.ts). */
  url: WrittenValue | null
  username: WrittenValue | null
  password: WrittenValue | null
  project: WrittenValue | null
  version: WrittenValue | null
  /** Whether the user's own files also contain this address. */
  isOwnAddress: boolean
}

export interface ScrapyConfiguration {
  /** Directory of the closest scrapy.cfg, or null if no directory up to the root has one. */
  projectDirectory: string | null
  targets: DeployTarget[]
}

interface Place {
  directory: string
  homeDirectory: string
  environment: Record<string, string | undefined>
}

/**
 * Reads the same files as Scrapy (scrapy.utils.conf). Later files take precedence. Throws BAD_INPUT for a file that
 * others could have changed, because credentials are sent to the addresses in it.
 */
export function readScrapyConfiguration(place: Place): ScrapyConfiguration {
  const projectDirectory = closestProject(place.directory)
  const configHome = place.environment['XDG_CONFIG_HOME'] || join(place.homeDirectory, '.config')
  const ownFiles = ['/etc/scrapy.cfg', join(configHome, 'scrapy.cfg'), join(place.homeDirectory, '.scrapy.cfg')]
  const own = mergeFiles(ownFiles)
  const projectFile = projectDirectory === null ? [] : [join(projectDirectory, 'scrapy.cfg')]
  const merged = mergeFiles([...ownFiles, ...projectFile])
  return { projectDirectory, targets: [...merged.keys()].flatMap((section) => targetOf(section, merged, own)) }
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

function targetOf(section: string, merged: IniSections, own: IniSections): DeployTarget[] {
  const name = /^deploy(?::(.+))?$/.exec(section)
  if (name === null) return []
  const get = (key: string): WrittenValue | null => {
    const text = textOf(merged, section, key)
    return text === null ? null : { key, text, isOwn: textOf(own, section, key) === text }
  }
  const url = get('url')
  const ownUrl = textOf(own, section, 'url')
  const isSameOrigin = ownUrl !== null && url !== null && isSameAddress(ownUrl, url.text)
  return [
    {
      name: name[1] ?? 'default',
      url,
      username: get('username'),
      password: get('password'),
      project: get('project'),
      version: get('version'),
      isOwnAddress: url?.isOwn === true || isSameOrigin
    }
  ]
}

function isSameAddress(one: string, other: string): boolean {
  const origin = URL.parse(one)?.origin
  return origin !== undefined && origin === URL.parse(other)?.origin
}

/** [deploy] has the defaults for all targets. An empty user name overrides the default, so ~/.netrc applies. */
function textOf(sections: IniSections, section: string, key: string): string | null {
  const value = valueOf(sections, section, key) ?? valueOf(sections, 'deploy', key)
  return value === '' ? null : value
}

function valueOf(sections: IniSections, section: string, key: string): string | null {
  try {
    return resolveIniValue(sections, section, key)
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.scrapy_cfg_unreadable', { key, section, what }), {
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
