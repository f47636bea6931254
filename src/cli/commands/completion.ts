import type { Command } from 'commander'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import type { Terminal } from '../client/terminal.ts'

const WRITERS: Record<string, (places: Place[]) => string> = { bash: writeBash, zsh: writeZsh, fish: writeFish }

const SHELLS = Object.keys(WRITERS).join(', ')

export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command('completion <shell>')
    .description(`Print a completion script for ${SHELLS}; docs/cli.md says where it goes.`)
    .option('--json', 'print it as JSON')
    .action((shell: string, flags: { json?: boolean }) => {
      const write = WRITERS[shell]
      if (write === undefined)
        throw new CommandEnd(EXIT_CODES.usage, `There is completion for ${SHELLS}, not for ${shell}.`)
      const script = write(placesOf(program))
      terminal.out(flags.json === true ? `${JSON.stringify({ shell, script })}\n` : script)
    })
}

interface Suggestion {
  word: string
  description: string
}

interface Place {
  /** `nodes add`, or empty for the program's name alone. */
  path: string
  commands: Suggestion[]
  options: Suggestion[]
}

function placesOf(command: Command, path: string[] = []): Place[] {
  const options = command.options.map((option) => ({
    word: option.long ?? option.flags,
    description: option.description
  }))
  const commands = command.commands.map((one) => ({ word: one.name(), description: one.description() }))
  return [
    { path: path.join(' '), commands, options: [...options, { word: '--help', description: 'show help' }] },
    ...command.commands.flatMap((one) => placesOf(one, [...path, one.name()]))
  ]
}

/** Command names contain no spaces or quotes, so they need no escaping. */
function pathCases(places: Place[], indent: string): string {
  const paths = places.map(({ path }) => path).filter((path) => path !== '')
  return paths.map((path) => `${indent}'${path}') place='${path}' ;;`).join('\n')
}

const wordsOf = (suggestions: Suggestion[]): string => suggestions.map(({ word }) => word).join(' ')

function writeBash(places: Place[]): string {
  const answers = places.map(
    ({ path, commands, options }) => `    '${path}') commands='${wordsOf(commands)}' options='${wordsOf(options)}' ;;`
  )
  return `# bash completion of scrapdeck. Put into ~/.bashrc: source <(scrapdeck completion bash)
_scrapdeck() {
  local place='' commands='' options='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${place:+$place }$word" in
${pathCases(places, '      ')}
    esac
  done
  case "$place" in
${answers.join('\n')}
  esac
  word="\${COMP_WORDS[COMP_CWORD]}"
  # Where there is neither, bash completes names of files.
  if [[ $word == -* ]]; then commands=$options; fi
  COMPREPLY=($(compgen -W "$commands" -- "$word"))
}
complete -o default -F _scrapdeck scrapdeck
`
}

function writeZsh(places: Place[]): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const answers = places.map(({ path, commands, options }) => {
    const listOf = (suggestions: Suggestion[]) =>
      suggestions.map(({ word, description }) => quote(`${word}:${description.replaceAll(':', '\\:')}`)).join(' ')
    return `    ${quote(path)}) commands=(${listOf(commands)}) options=(${listOf(options)}) ;;`
  })
  return `#compdef scrapdeck
# zsh completion of scrapdeck. Put it into a directory of $fpath as _scrapdeck.
_scrapdeck() {
  local place='' word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${place:+$place }$word" in
${pathCases(places, '      ')}
    esac
  done
  case "$place" in
${answers.join('\n')}
  esac
  if [[ "$words[CURRENT]" == -* ]]; then _describe 'option' options
  elif (( $#commands )); then _describe 'command' commands
  else _files; fi
}
if [ "$funcstack[1]" = _scrapdeck ]; then _scrapdeck "$@"; else compdef _scrapdeck scrapdeck; fi
`
}

function writeFish(places: Place[]): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = places.flatMap(({ path, commands, options }) => {
    const condition = quote(`test (__scrapdeck_place) = "${path}"`)
    return [
      ...commands.map(
        ({ word, description }) => `complete -c scrapdeck -f -n ${condition} -a ${word} -d ${quote(description)}`
      ),
      ...options.map(
        ({ word, description }) => `complete -c scrapdeck -n ${condition} -l ${word.slice(2)} -d ${quote(description)}`
      )
    ]
  })
  return `# fish completion of scrapdeck: scrapdeck completion fish > ~/.config/fish/completions/scrapdeck.fish
function __scrapdeck_place
  set -l place ''
  for word in (commandline -opc)[2..]
    switch (string trim -- "$place $word")
${places
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      case '${path}'\n        set place '${path}'`)
  .join('\n')}
    end
  end
  echo $place
end
${lines.join('\n')}
`
}
