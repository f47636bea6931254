/** Splits a shell line into commands, each a list of words. `;`, `&&`, `||`, `|` and `&` separate commands. */
export function shellCommands(line: string): string[][] {
  const commands: string[][] = [[]]
  let word: string | null = null
  let index = 0
  const add = (text: string) => {
    word = (word ?? '') + text
  }
  const endWord = () => {
    if (word !== null) commands.at(-1)!.push(word)
    word = null
  }
  while (index < line.length) {
    const letter = line[index]!
    if (letter === "'") {
      const end = line.indexOf("'", index + 1)
      if (end < 0) throw new Error('a quote is not closed')
      add(line.slice(index + 1, end))
      index = end + 1
    } else if (letter === '"') {
      index = readQuoted(index + 1)
    } else if (letter === '\\') {
      add(line[index + 1] ?? '')
      index += 2
    } else if (letter === '$' || letter === '`') {
      index = readSubstitution(index)
    } else if (/\s/.test(letter)) {
      endWord()
      index += 1
    } else if (/[;&|]/.test(letter)) {
      endWord()
      commands.push([])
      index += 1
    } else if (letter === '>' || letter === '<') {
      // Neither the target of a redirection nor its file descriptor is a word of the command.
      if (word !== null && !/^\d$/.test(word)) endWord()
      word = null
      index += /^[<>]+&?\s*[^\s;&|]*/.exec(line.slice(index))![0].length
    } else if (letter === '#' && word === null) {
      break
    } else {
      add(letter)
      index += 1
    }
  }
  endWord()
  return commands.filter((command) => command.length > 0)

  function readQuoted(from: number): number {
    add('')
    let place = from
    while (line[place] !== '"') {
      if (place >= line.length) throw new Error('a quote is not closed')
      if (line[place] === '\\' && /["\\$`]/.test(line[place + 1] ?? '')) {
        add(line[place + 1]!)
        place += 2
      } else if (line[place] === '$' || line[place] === '`') place = readSubstitution(place)
      else {
        add(line[place]!)
        place += 1
      }
    }
    return place + 1
  }

  function readSubstitution(from: number): number {
    const [whole, dollar, tick] = /^(?:\$\(([^()]*)\)|`([^`]*)`)/.exec(line.slice(from)) ?? []
    const command = dollar ?? tick
    const format = command === undefined ? null : dateFormat(command.trim())
    if (whole === undefined || format === null) {
      const shown = whole ?? line.slice(from).split(/[\s"';&|]/)[0]
      throw new Error(`${shown} is expanded by the shell; a schedule supports only dates`)
    }
    add(`\u0000${format}\u0001`)
    return from + whole.length
  }
}

const DIRECTIVES: Record<string, string> = {
  Y: 'yyyy',
  y: 'yy',
  m: 'MM',
  d: 'dd',
  H: 'HH',
  M: 'mm',
  S: 'ss',
  F: 'yyyy-MM-dd',
  T: 'HH:mm:ss',
  R: 'HH:mm'
}

/** Returns null for a command that prints no date, or a date in an unsupported format. */
function dateFormat(command: string): string | null {
  if (command === 'date +%s') return 'unix'
  const [, single, double, plain] = /^date\s+\+(?:'([^']*)'|"([^"]*)"|(\S+))$/.exec(command) ?? []
  const text = single ?? double ?? plain
  if (text === undefined) return null
  let format = ''
  for (const [part, directive] of text.matchAll(/%(.)|[^%]+/g)) {
    if (directive === undefined) format += /[A-Za-z]/.test(part) ? `'${part}'` : part
    else if (DIRECTIVES[directive] === undefined) return null
    else format += DIRECTIVES[directive]
  }
  return /[{}']/.test(text) ? null : format
}

/** Dates become placeholders of the nominal time, and braces are escaped. */
export function templateText(word: string): string {
  return word.replaceAll('{', '{{').replaceAll('\u0000', '{nominal:').replaceAll('\u0001', '}')
}
