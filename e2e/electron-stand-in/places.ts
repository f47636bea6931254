import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const appPath = findAppPath(process.argv[1] ?? process.cwd())
export const packageJson = JSON.parse(readFileSync(join(appPath, 'package.json'), 'utf8')) as {
  name: string
  version: string
}
export const userData = findUserData()
mkdirSync(userData, { recursive: true })

function findUserData(): string {
  const option = '--user-data-dir='
  const given = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length)
  if (!given) throw new Error(`The stand-in wants ${option}DIRECTORY`)
  return given
}

function findAppPath(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : findAppPath(dirname(from))
}
