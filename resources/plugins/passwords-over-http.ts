import type { Plugin, PluginUser } from '../../src/engine/notify/plugins/plugin.ts'

/**
 * A service of yours checks names and passwords: it gets `{"username", "password"}`, and answers 200 with `{"name",
 * "groups"}`, or 401 if the password is wrong.
 *
 *   plugins =
 *       resources/plugins/passwords-over-http.ts name=staff url=https://auth.example.org/check
 *   plugin_roles = crawl-team = operator
 *
 * For LDAP and the like, put a bind in the place of the request.
 */
export default function passwordsOverHttp({ url = '' }: Readonly<Record<string, string>>): Plugin {
  const isSafe = URL.parse(url)?.protocol === 'https:' || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url)
  if (!isSafe) throw new Error('say who checks passwords with url=https://…; http:// only on this machine')

  return {
    async authenticate(credentials) {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(credentials),
        // Otherwise another address would get the password.
        redirect: 'error',
        // Shorter than the plugin's own time limit, which would end its thread.
        signal: AbortSignal.timeout(4_000)
      })
      if (answer.status === 401) return null
      if (!answer.ok) {
        // Scrapdeck does not log what a plugin throws here. What is printed goes to the log: never the password.
        console.error(`the service that checks passwords answered ${answer.status}`)
        throw new Error('no answer')
      }
      const { name, groups } = (await answer.json()) as PluginUser
      return { name, ...(groups && { groups }) }
    }
  }
}
