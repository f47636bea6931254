/** The settings in the Containerfile that a test needs to start the image's programs without the image. */
import fs from 'node:fs'

export interface ImageSettings {
  entrypoint: string[]
  environment: Record<string, string>
  user: string
  workingDirectory: string
}

/** Reads the instructions of one stage. The instructions of the stage's base do not matter here. */
export function readContainerfile(file: string, target: string): ImageSettings {
  const text = fs
    .readFileSync(file, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
  const stage = text.split(/^FROM /m).find((part) => new RegExp(`^\\S+ AS ${target}\\n`).test(part))
  if (stage === undefined) throw new Error(`The Containerfile has no stage ${target}`)
  const last = (name: string) => {
    const value = [...stage.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1)?.[1]
    if (value === undefined) throw new Error(`The stage ${target} has no ${name}`)
    return value
  }
  return {
    entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    environment: Object.fromEntries(
      last('ENV')
        .trim()
        .split(/\s+/)
        .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
    ),
    user: last('USER'),
    workingDirectory: last('WORKDIR')
  }
}
