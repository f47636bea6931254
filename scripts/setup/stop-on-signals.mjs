/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Ends this process with `stop` on the first signal. Later signals have no effect: Ctrl-C reaches every process of
 * the terminal, and the processes that started this one also forward it.
 * @param {() => Promise<void>} stop
 * @returns {(code: number) => Promise<never>} does the same without a signal, and exits with this code
 */
export function stopOnSignals(stop) {
  /** @type {Promise<never> | undefined} */
  let stopping
  /** @param {number} code */
  const end = (code) => (stopping ??= stop().then(() => process.exit(code)))
  for (const signal of SIGNALS) process.on(signal, () => void end(0))
  // Ignores failed output, because after a hangup there is no terminal to print to.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return end
}
