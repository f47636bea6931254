import { execFile, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, TEST_CREDENTIALS } from './service.ts'
import { basicAuthorization } from './basic-authorization.ts'

const LIMIT_MS = 60_000

export function runClient(
  cwd: string,
  command: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = join(dirname(readTestEnvironment().python), command)
  return new Promise((resolve) => {
    execFile(file, args, { cwd, timeout: LIMIT_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}

export interface PythonClient {
  /** Returns a Python expression's value via JSON. Rejects with `Class: message` on an exception. */
  evaluate(expression: string): Promise<unknown>
  stop(): void
}

/**
 * Starts a Python that runs `beginning` (with `args` in sys.argv), then evaluates expressions. Client libraries are
 * thus imported only once.
 */
export function startPythonClient(cwd: string, beginning: string, ...args: string[]): PythonClient {
  const script = `import json, sys
${beginning}
for line in sys.stdin:
    try:
        answer = {"value": eval(json.loads(line))}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)`
  const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']
  const python = spawn(readTestEnvironment().python, ['-c', script, ...args], { cwd, stdio })
  const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]()
  return {
    async evaluate(expression) {
      python.stdin.write(`${JSON.stringify(expression)}\n`)
      const { value: line, done } = await answers.next()
      if (done) throw new Error(`Python ended instead of evaluating ${expression}`)
      const answer = JSON.parse(line) as { value: unknown } | { error: string }
      if ('error' in answer) throw new Error(answer.error)
      return answer.value
    },
    stop: () => void python.kill()
  }
}

const AUTHORIZATION = basicAuthorization(TEST_CREDENTIALS)

/** Polls the service directly, because polling with a client would start a Python each time. */
export async function untilJobIs(state: 'running' | 'finished', jobid: string, service: Service): Promise<void> {
  const ask = async () => {
    const url = `${service.address}/status.json?job=${jobid}`
    const response = await fetch(url, { headers: { authorization: AUTHORIZATION } })
    return ((await response.json()) as { currstate: string }).currstate
  }
  await until(`${jobid} to be ${state}`, ask, (seen) => seen === state)
}
