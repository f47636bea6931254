import type { Plugin } from '../../src/engine/notify/plugins/plugin.ts'

/**
 * Alerts go to a chat that takes `{"text": ...}` (Mattermost, Rocket.Chat, Google Chat; Slack has a channel of its own).
 *
 *   plugins =
 *       resources/plugins/alerts-to-chat.ts url=https://chat.example.org/hooks/secret
 *
 * Then add an alert channel of the kind Plugin that names it: rules say which alerts go there. If the chat does not
 * take a message, the hook throws, and Scrapdeck sends it again later.
 */
export default function alertsToChat({ url, severity }: Readonly<Record<string, string>>): Plugin {
  if (url === undefined) throw new Error('say where to with url=https://…')
  if (severity !== undefined) console.log('severity= is not used any more: alert rules say what is sent')

  return {
    async alert({ data: { title, kind, firing, resolved, moreFiring, moreResolved } }) {
      const lines = [
        ...firing.map((one) => `${SIGNS[one.severity]} ${shown(one.text)}`),
        ...resolved.map((one) => `🟢 Over: ${shown(one.text)}`)
      ]
      const more = moreFiring + moreResolved
      if (lines.length > 1) lines.unshift(shown(title))
      if (kind === 'repeat') lines.unshift('Not acknowledged yet.')
      if (more > 0) lines.push(`and ${more} more`)
      await say(lines.join('\n'))
    }
  }

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
}

const SIGNS = { critical: '🔴', warning: '🟠', info: '🔵' }

/** A log line or the answer of a node must not mention people (`@all`, `<users/all>`), nor fill the chat. */
const shown = (text: string): string => text.slice(0, 300).replaceAll(/[@<]/g, '$&\u200b')
