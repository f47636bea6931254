/**
 * Lets the specs inspect the main process, like Playwright's `electronApp.evaluate`: a function's source arrives
 * over the process channel and runs here with the electron module. Only in tests (process.send exists).
 */
export function listenForEvaluations(): void {
  if (!process.send) return
  process.on('message', (message: Evaluation) => void evaluate(message))
}

interface Evaluation {
  id: number
  source: string
  argument: unknown
}

async function evaluate({ id, source, argument }: Evaluation): Promise<void> {
  try {
    const electron = await import('./electron.ts')
    const value = await (0, eval)(`(${source})`)(electron, argument)
    process.send?.({ kind: 'evaluated', id, value })
  } catch (error) {
    process.send?.({ kind: 'evaluated', id, error: String((error as Error).stack ?? error) })
  }
}
