import type { Plugin } from '../../src/engine/plugins/plugin.ts'

/**
 * An alert channel: problems of the Overview go to a chat that takes `{"text": ...}` (Slack, Mattermost, Rocket.Chat, Google Chat).
 *
 *   plugins =
 *       resources/plugins/alerts-to-chat.ts url=https://chat.example.org/hooks/secret severity=error
 *
 * `severity=error` leaves warnings out. Where the chat does not take it, the hook fails and is told again later.
 */
export default function alertsToChat({ url, severity = 'warning' }: Readonly<Record<string, string>>): Plugin {
  if (url === undefined) throw new Error('say where to with url=https://…')

  async function say(text: string): Promise<void> {
    const answer = await fetch(url!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
      // Shorter than the plugin's own time limit, which would end its thread.
      signal: AbortSignal.timeout(4_000)
    })
    if (!answer.ok) throw new Error(`the chat answered ${answer.status}`)
  }

  const isWanted = (problem: { severity: string }) => severity === 'warning' || problem.severity === 'error'

  return {
    async problemRaised({ data: { problem } }) {
      if (isWanted(problem)) await say(`${problem.severity === 'error' ? '🔴' : '🟠'} ${problem.title}\n${problem.text}`)
    },
    async problemResolved({ data: { problem } }) {
      if (isWanted(problem)) await say(`🟢 Over: ${problem.title}`)
    }
  }
}
