export async function* reportsOf<T>(work: (report: (one: T) => void) => Promise<unknown>): AsyncGenerator<T, void> {
  const reports: T[] = []
  let wake = () => {}
  let isDone = false
  const report = (one: T) => {
    reports.push(one)
    wake()
  }
  const done = work(report).finally(() => {
    isDone = true
    wake()
  })
  // The `await` below throws the error, after the last report.
  done.catch(() => {})
  while (!isDone || reports.length > 0) {
    if (reports.length > 0) yield reports.shift()!
    else await new Promise<void>((resolve) => (wake = resolve))
  }
  await done
}
