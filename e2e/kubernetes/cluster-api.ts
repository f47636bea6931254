import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'

export type ClusterApi = ReturnType<typeof createClusterApi>

/** Uses the API as its administrator. Rejects with the status and message of a failed request. */
export function createClusterApi({ server, caFile, token }: { server: string; caFile: string; token: string }) {
  const agent = new Agent({ connect: { ca: readFileSync(caFile, 'utf8') } })

  async function ask(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<unknown> {
    const answer = await request(`${server}/${path}`, {
      method: method as 'GET',
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': contentType },
      body: body === undefined ? null : JSON.stringify(body)
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }

  return {
    get: (path: string) => ask('GET', path),
    put: (method: 'POST' | 'PUT', path: string, body: unknown) => ask(method, path, body),
    patch: (path: string, body: unknown) => ask('PATCH', path, body, 'application/strategic-merge-patch+json'),
    remove: (path: string) => ask('DELETE', path),
    isReady: () =>
      ask('GET', 'api/v1/namespaces/default').then(
        () => true,
        () => false
      ),
    close: () => agent.close()
  }
}
