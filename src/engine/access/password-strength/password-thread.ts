import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/access.ts'
import type { Clock } from '../../runtime/clock.ts'
import { runInThread, threadFile } from '../../runtime/thread-task.ts'
import type { JudgedPassword } from './judge-password.ts'

const LIMITS = { memoryMb: 150, timeoutMs: 20_000 }

/** Judges passwords in a thread, which keeps the event loop free and frees the word lists after use. */
export const judgeInThread =
  (clock: Clock) =>
  (input: JudgedPassword): Promise<boolean> =>
    runInThread({ file: threadFile(import.meta.url, 'password-worker'), input, clock, tooLarge, ...LIMITS })

const tooLarge = (what: string) => new ScrapdeckError('BAD_INPUT', sentence('access.password_not_judged', { what }))
