import { readFileSync } from 'node:fs'

export interface Run {
  number: number
  /** The job's id on the node, with `-2`, `-3`… for later attempts. */
  jobid: string
  node: string
  pid: number
  beganAtMs: number
  /** null: the run never completed. */
  endedAtMs: number | null
}

/** Reads what the runs themselves recorded (chaos_runner.py), ordered by start. */
export function readTruth(file: string): Run[] {
  return parseTruth(readFileSync(file, 'utf8'))
}

export function parseTruth(text: string): Run[] {
  const runs = new Map<string, Run>()
  // A line without a line break is still being written.
  for (const line of text.split('\n').slice(0, -1)) {
    const [what, jobid, node, pid, seconds, number, ...rest] = line.split(' ')
    if ((what !== 'begin' && what !== 'end') || number === undefined || rest.length > 0) {
      throw new Error(`The file of the truth has a line that no run writes: ${line}`)
    }
    const atMs = Number(seconds) * 1000
    const key = `${node} ${pid} ${jobid}`
    if (what === 'begin') {
      runs.set(key, {
        number: Number(number),
        jobid: jobid!,
        node: node!,
        pid: Number(pid),
        beganAtMs: atMs,
        endedAtMs: null
      })
    } else {
      const run = runs.get(key)
      if (run === undefined) throw new Error(`The file of the truth has an end without a beginning: ${line}`)
      run.endedAtMs = atMs
    }
  }
  return [...runs.values()]
}
