import type { NewCredential } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

/** Why this browser can make none, whatever the address; null: it can. */
export const browserProblem = (): string | null =>
  typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON === 'function'
    ? null
    : texts.thisBrowserIsTooOldFor

/**
 * Asks the person for a finger, a face or a PIN. `options`: as the engine made them. Rejects with words of ours if
 * nothing came of it; the browser's own do not say what to do.
 */
export async function makePasskey(options: Record<string, unknown>): Promise<NewCredential> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
  let made: Credential | null
  try {
    made = await navigator.credentials.create({ publicKey })
  } catch (error) {
    throw new Error(explain(error as DOMException))
  }
  if (!(made instanceof PublicKeyCredential)) throw new Error('The browser made no passkey. Try again.')
  // With extensions of other calls that we do not ask for.
  return made.toJSON() as unknown as NewCredential
}

function explain({ name, message }: DOMException): string {
  if (name === 'InvalidStateError') return texts.thereIsAlreadyAPasskeyFor
  if (name === 'NotAllowedError') return texts.noPasskeyWasMadeItWas
  return texts.theBrowserMadeNoPasskey(message)
}
