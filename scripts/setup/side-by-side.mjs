/**
 * The number of cores to use. Two on any machine, because tests that measure time should run under the same load
 * everywhere.
 */
const CORES = 2

/**
 * Starts tasks in order, each as soon as there is room and the tasks in its `after` have ended. Throws the first
 * failure.
 * @template {{ name: string, title: string, cores: number, after: string[] }} Task
 * @param {Task[]} tasks
 * @param {(task: Task) => Promise<unknown>} run
 * @param {() => number} now milliseconds
 * @returns {Promise<{ name: string, title: string, beganMs: number, tookMs: number }[]>} in the order given
 */
export async function runSideBySide(tasks, run, now = () => performance.now()) {
  const waiting = [...tasks]
  /** @type {Map<string, Promise<void>>} */
  const running = new Map()
  /** @type {Map<string, { name: string, title: string, beganMs: number, tookMs: number }>} */
  const ran = new Map()
  const start = now()
  let freeCores = CORES

  /** @param {Task} task */
  const begin = async (task) => {
    const beganAt = now()
    await run(task)
    ran.set(task.name, { name: task.name, title: task.title, beganMs: beganAt - start, tookMs: now() - beganAt })
    running.delete(task.name)
    freeCores += task.cores
  }
  /** @param {Task} task */
  const mayBegin = (task) => task.cores <= freeCores && !task.after.some((name) => running.has(name))

  for (let next = waiting.shift(); next; next = waiting.shift()) {
    while (!mayBegin(next)) await Promise.race(running.values())
    freeCores -= next.cores
    running.set(next.name, begin(next))
  }
  await Promise.all(running.values())
  return tasks.flatMap(({ name }) => ran.get(name) ?? [])
}
