import type { NewCredential } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

/** Why this browser cannot create passkeys, regardless of the URL. null: it can. */
export const browserProblem = (): string | null =>
  typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON === 'function' ? null : texts.noPasskeySupport

/** `options` come from the engine. Rejects with our own text, because the browser's text does not say what to do. */
export async function makePasskey(options: Record<string, unknown>): Promise<NewCredential> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
  let made: Credential | null
  try {
    made = await navigator.credentials.create({ publicKey })
  } catch (error) {
    throw new Error(explain(error as DOMException))
  }
  if (!(made instanceof PublicKeyCredential)) throw new Error(texts.passkeyMissing)
  return made.toJSON() as unknown as NewCredential
}

function explain({ name, message }: DOMException): string {
  if (name === 'InvalidStateError') return texts.passkeyExists
  if (name === 'NotAllowedError') return texts.passkeyCancelled
  return texts.passkeyFailed(message)
}
