import { app, dialog, powerMonitor } from 'electron'
import { texts } from '../shared/texts/ui/desktop.ts'

interface LifecycleOptions {
  localRunningCount(): Promise<number>
  stopLocalSpiders(): Promise<void>
  stop(): Promise<void>
}

export interface Lifecycle {
  /** The system ends the session, so no question is shown. Spiders continue. */
  systemEnds(): void
  /** Shows why the engine could not start, and ends the app, which would look alive but record nothing. */
  couldNotStart(error: Error): void
}

const KEEP_RUNNING = 0
const STOP_ALL = 1
const CANCEL = 2

/** An engine that does not stop in this time is left. The store loses nothing, because each change is durable. */
const STOP_LIMIT_MS = 10_000
/** An error that occurs so soon after a restart is not cured by another one. */
const RESTART_HELPED_AFTER_S = 600
const RESTARTED = '--restarted-after-error'

/** Whether an unexpected error ended the previous process of the app. */
export const isRestarted = (): boolean => process.argv.includes(RESTARTED)

/**
 * Decides how the app ends.
 *
 *   running --the user quits--> asking --cancel--> running
 *                               asking --nothing runs, keep, stop all--> stopping
 *   running, asking --signal, the system ends--> stopping --> stopped (exit code 0)
 *   running, asking --an error that nothing caught--> stopping --> stopped (exit code 1, and a restart, once)
 *   starting --the engine failed--> stopped (exit code 1)
 *
 * Only the user is asked, because spiders can outlive the app. The system and `kill` cannot wait for an answer: spiders
 * keep running, and no data is lost.
 */
export function installLifecycle(options: LifecycleOptions): Lifecycle {
  let state: 'running' | 'asking' | 'stopping' | 'stopped' = 'running'

  app.on('before-quit', (event) => {
    if (state === 'stopped') return
    event.preventDefault()
    if (state === 'running') void ask()
  })
  process.on('uncaughtException', (error) => void breakDown(error))
  process.on('unhandledRejection', (reason) => void breakDown(reason))
  void app.whenReady().then(() => {
    // Electron replaces earlier handlers by its own, which quits as a user does.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, systemEnds)
    // macOS and Linux. If the event is prevented, the system waits for the exit. Otherwise, macOS would quit the app
    // like a user, and the question would interrupt the logout.
    powerMonitor.on('shutdown', (event?: { preventDefault(): void }) => {
      event?.preventDefault()
      systemEnds()
    })
  })

  async function ask() {
    state = 'asking'
    try {
      const answer = await askAboutSpiders(await options.localRunningCount())
      // A signal may have arrived while the question was displayed.
      if (state !== 'asking') return
      if (answer === CANCEL) {
        state = 'running'
        return
      }
      if (answer === STOP_ALL) await options.stopLocalSpiders()
      await stopAnd(() => app.quit())
    } catch (error) {
      state = 'running'
      dialog.showErrorBox(texts.couldNotQuit, texts.couldNotQuitHint((error as Error).message))
    }
  }

  function systemEnds(): void {
    void stopAnd(() => app.quit())
  }

  /** After an unexpected error, parts of the app may have stopped. A new process is whole. */
  async function breakDown(error: unknown): Promise<void> {
    console.error('An unexpected error ends the app:', error)
    await stopAnd(() => {
      if (isRestarted() && process.uptime() < RESTART_HELPED_AFTER_S)
        dialog.showErrorBox(texts.endedAgain, error instanceof Error ? error.message : String(error))
      else app.relaunch({ args: [...process.argv.slice(1), ...(isRestarted() ? [] : [RESTARTED])] })
      app.exit(1)
    })
  }

  async function stopAnd(end: () => void): Promise<void> {
    if (state === 'stopping' || state === 'stopped') return
    state = 'stopping'
    const limit = new Promise<void>((resolve) => setTimeout(resolve, STOP_LIMIT_MS))
    try {
      await Promise.race([options.stop(), limit])
    } catch (error) {
      console.error('The engine did not stop cleanly:', error)
    }
    state = 'stopped'
    end()
  }

  return {
    systemEnds,
    couldNotStart(error) {
      console.error(error)
      state = 'stopped'
      dialog.showErrorBox(texts.couldNotStart, error.message)
      app.exit(1)
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
