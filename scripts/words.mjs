/**
 * `npm run words` counts the lines of src/ (without tests), docs/ and README.md with a sign of unclear English, and
 * fails if there are too many. `npm run words -- FOLDER…` prints these lines.
 */
import { spawnSync } from 'node:child_process'

const SIGNS = String.raw`\b(whoever|told|nobody|somebody|is looked|are looked|of which)\b`
const MOST_LINES = 150

const folders = process.argv.slice(2)
const lines = grep(folders.length > 0 ? folders : ['src', 'docs', 'README.md'])
if (folders.length > 0) console.log(lines.join('\n'))
console.log(
  `${lines.length} lines have a sign of unclear English (whoever, told, nobody, somebody, is looked, of which)`
)
if (folders.length === 0 && lines.length > MOST_LINES) {
  console.log(`At most ${MOST_LINES} may: say it with a subject, a verb and the term of the field.`)
  process.exit(1)
}

/** @param {string[]} paths */
function grep(paths) {
  // git grep exits with 1 if no line matches.
  const { stdout, status, stderr } = spawnSync('git', ['grep', '-nIiE', SIGNS, '--', ...paths], {
    encoding: 'utf8',
    maxBuffer: 20_000_000
  })
  if (status === null || status > 1) throw new Error(`git grep failed: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '' && !/\.test\.tsx?:/.test(line))
}
