/**
 * What lists of leaked passwords are made of: with a length of 15, it is these words over and over, with digits. From
 * the most common ones of several published lists, without what is in a longer one of them.
 */
const COMMON_WORDS =
  'password passwort motdepasse contrasena passw0rd p@ssw0rd qwerty qwertz azerty asdfgh zxcvbn 1q2w3e4r 1qaz2wsx qazwsx abc123 ' +
  'iloveyou letmein welcome trustno1 changeme whatever admin administrator root user login master superuser default secret ' +
  'monkey dragon football baseball basketball soccer hockey sunshine princess shadow superman batman spiderman starwars ' +
  'pokemon michael jessica charlie jordan ashley daniel andrew thomas computer internet samsung google facebook linkedin ' +
  'summer winter spring autumn monday friday january december company secure test demo guest hello freedom love lovely ' +
  'scrapdeck scrapyd scrapy spider crawler scraper'
const WORDS = new RegExp(
  COMMON_WORDS.split(' ')
    .toSorted((one, other) => other.length - one.length)
    .join('|'),
  'g'
)

/** Characters that are beside each other where people run their fingers along. */
const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'azertyuiop'
]
const COLUMNS = ['1qaz', '2wsx', '3edc', '4rfv', '5tgb', '6yhn', '7ujm', '1q2w3e4r5t6y7u8i9o0p']

const NEIGHBOURS = new Set(
  [...ROWS, ...COLUMNS].flatMap((row) =>
    Array.from({ length: row.length - 1 }, (_, at) => row.slice(at, at + 2)).flatMap((pair) => [
      pair,
      `${pair[1]}${pair[0]}`
    ])
  )
)

/** Less than this is left of a password that is hard to guess. */
const LEFT_MIN = 8
const DIFFERENT_MIN = 6
/** Share of its pairs of characters that are neighbours; in words there are far fewer. */
const NEIGHBOURS_MAX = 0.6

/** What a guesser tries first at this length: names, common words, or a few characters, over and over, or in a row. */
export function isObvious(password: string, name: string): boolean {
  const text = password.toLowerCase()
  const pairs = Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2))
  const inRow = pairs.filter((pair) => pair[0] === pair[1] || NEIGHBOURS.has(pair)).length
  if (inRow > pairs.length * NEIGHBOURS_MAX) return true
  const left = text
    .replaceAll(name.toLowerCase(), '')
    .replaceAll(WORDS, '')
    .replaceAll(/[\d\s]+/g, '')
  return new Set(left).size < DIFFERENT_MIN || left.length < LEFT_MIN
}
