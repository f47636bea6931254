/** The arguments of `npm run demo`, checked before anything is installed. Runs on Node 20. */
import { parseArgs } from 'node:util'

/** The number of Scrapyds. They have the ports after that of Scrapdeck. */
export const SCRAPYD_COUNT = 3
const USUAL_PORT = 6800
const HIGHEST_PORT = 65_535 - SCRAPYD_COUNT

export const USAGE = `npm run demo -- [--port N] [--exit]

  --port N   Scrapdeck on this port (default ${USUAL_PORT}), the ${SCRAPYD_COUNT} Scrapyds on the ports after it
  --exit     end when the jobs have ended; exit code 1 if any ended unexpectedly (default: run until Ctrl-C)`

/**
 * @param {string[]} words
 * @returns {{ port: number, exit: boolean, help: boolean } | { problem: string }}
 */
export function readDemoArguments(words) {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        exit: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        port: { type: 'string', default: String(USUAL_PORT) }
      }
    })
    const [stray] = positionals
    if (stray !== undefined) {
      const hint = /^\d+$/.test(stray) ? ` For a port: --port ${stray}` : ''
      return { problem: `The demo takes only options, not "${stray}".${hint}` }
    }
    const port = Number(values.port)
    if (!/^\d+$/.test(values.port) || port < 1 || port > HIGHEST_PORT) {
      return { problem: `--port takes a number from 1 to ${HIGHEST_PORT}, not "${values.port}".` }
    }
    return { port, exit: values.exit, help: values.help }
  } catch (error) {
    // The first sentence of Node's own message names the option.
    return { problem: /** @type {Error} */ (error).message.split('. ', 1)[0] + '.' }
  }
}
