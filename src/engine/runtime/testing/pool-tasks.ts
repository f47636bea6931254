import { threadId } from 'node:worker_threads'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { servePool, type TaskContext } from '../task-worker.ts'

servePool({
  double: (number: number) => ({ double: number * 2, thread: threadId }),
  count(until: number, { emit }: TaskContext) {
    for (let number = 1; number <= until; number += 1) emit(number)
    return 'counted'
  },
  fail(code: 'BAD_INPUT' | null) {
    throw code === null ? new Error('something else') : new ScrapdeckError(code, sentence('runs.disk_full'))
  },
  waitUntilStopped(_: null, { isStopped }: TaskContext) {
    while (!isStopped());
  },
  neverEnds() {
    for (;;);
  },
  die() {
    process.exit(1)
  },
  noteEnd(ended: Int32Array<SharedArrayBuffer>) {
    process.on('exit', () => void Atomics.store(ended, 0, 1))
  }
})
