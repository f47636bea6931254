import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from '../engine/runtime/logger.ts'

const LIMIT_MS = 10_000

/**
 * Removes systemd's notify socket from the environment, so that spiders do not inherit it. The returned function
 * notifies systemd that the service is ready, if systemd started it. Node cannot open this kind of socket, so the
 * function runs systemd-notify.
 */
export function takeSystemdSocket(environment: NodeJS.ProcessEnv): (logger: Logger) => Promise<void> {
  const { NOTIFY_SOCKET: socket } = environment
  delete environment['NOTIFY_SOCKET']
  return async (logger) => {
    if (socket === undefined || socket === '') return
    const env = { ...environment, NOTIFY_SOCKET: socket }
    const notified = promisify(execFile)('systemd-notify', ['--ready'], { env, timeout: LIMIT_MS })
    await notified.catch((error: unknown) => {
      logger.error({ error }, 'could not report to systemd that the service is ready: systemd-notify failed')
    })
  }
}
