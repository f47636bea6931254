import { ScrapdeckError } from '../../../shared/errors.ts'
import type { EggLinks, LinkedEgg } from './egg-links.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import type { EggToSend } from '../../projects/projects.ts'
import type { Base } from '../../runtime/tools.ts'

const KEY_BYTES = 32

export type WiredEggLinks = ReturnType<typeof wireEggLinks>

/** The links with which pods fetch eggs. Their key is created for the first link, and stored sealed. */
export function wireEggLinks(
  parts: Base & {
    isLive: (jobid: string) => boolean
    eggToSend: (project: LinkedEgg['project'], version: LinkedEgg['version']) => EggToSend
  }
) {
  const { store, secretBox, random, clock, logger } = parts
  let opened: Promise<EggLinks> | null = null

  return {
    load: (): Promise<EggLinks> => (opened ??= open().catch(forget)),
    /** The egg behind a link. Throws EGG_LINK_INVALID: not ours, expired, or of a run that has ended. */
    async openEgg(token: string): Promise<EggToSend> {
      const linked = (await this.load()).read(token)
      if (linked === null || !parts.isLive(linked.jobid)) {
        throw new ScrapdeckError(
          'EGG_LINK_INVALID',
          'This link to an egg is not valid: it has expired, or its run has ended'
        )
      }
      return parts.eggToSend(linked.project, linked.version)
    }
  }

  async function open(): Promise<EggLinks> {
    const { EggLinks: Links } = await import('./egg-links.ts')
    return new Links({ key: await readKey(), clock })
  }

  function forget(error: unknown): never {
    opened = null
    throw error
  }

  async function readKey(): Promise<string> {
    const kept = await store.getSetting('kubernetes.linkKey')
    if (kept !== null) {
      try {
        return await secretBox.open(asSealedText(kept))
      } catch (error) {
        logger.warn({ error }, 'the key of links to eggs cannot be read here; pods that have not started yet will fail')
      }
    }
    const key = random.hex(KEY_BYTES)
    await store.putSetting('kubernetes.linkKey', await secretBox.seal(key))
    return key
  }
}
