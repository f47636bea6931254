import { app, dialog } from 'electron'
import { texts } from '../shared/texts/ui/desktop.ts'

interface QuitOptions {
  localRunningCount(): Promise<number>
  stopLocalSpiders(): Promise<void>
  stop(): Promise<void>
}

const KEEP_RUNNING = 0
const STOP_ALL = 1
const CANCEL = 2

/**
 * If spiders run on this machine, quitting first shows a question, because spiders can outlive the app.
 *
 *   idle --quit--> asking --cancel--> idle
 *                  asking --nothing runs, keep, stop all--> stopping --> stopped (the process ends)
 *
 * A signal from the system (shutdown, logout, `kill`) cannot wait for the user. Spiders keep running, and no data is
 * lost.
 */
export function installQuit(options: QuitOptions): void {
  let state: 'idle' | 'asking' | 'stopping' | 'stopped' = 'idle'

  app.on('before-quit', (event) => {
    if (state === 'stopped') return
    event.preventDefault()
    if (state === 'idle') void ask()
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stopAndQuit())

  async function ask() {
    state = 'asking'
    try {
      const answer = await askAboutSpiders(await options.localRunningCount())
      // A signal may have arrived while the question was displayed.
      if (state !== 'asking') return
      if (answer === CANCEL) {
        state = 'idle'
        return
      }
      if (answer === STOP_ALL) await options.stopLocalSpiders()
      await stopAndQuit()
    } catch (error) {
      state = 'idle'
      dialog.showErrorBox(texts.couldNotQuit, texts.couldNotQuitHint((error as Error).message))
    }
  }

  async function stopAndQuit() {
    if (state === 'stopping' || state === 'stopped') return
    state = 'stopping'
    try {
      await options.stop()
    } finally {
      state = 'stopped'
      app.quit()
    }
  }
}

async function askAboutSpiders(count: number): Promise<number> {
  if (count === 0) return KEEP_RUNNING
  const { response } = await dialog.showMessageBox({
    type: 'question',
    title: texts.quitQuestion,
    message: texts.spidersRunning(count),
    detail: texts.spidersRunningHint,
    buttons: [texts.quitAndKeep(count), texts.stopAndQuit(count), texts.cancel],
    defaultId: KEEP_RUNNING,
    cancelId: CANCEL,
    noLink: true
  })
  return response
}
