import type { RunInput } from '../../../shared/contract/index.ts'

/** The same without its secret values, which must not be shown, copied or kept; their names do no harm. */
export function maskSecrets<Asked extends Pick<RunInput, 'settings' | 'args' | 'secretNames'>>(
  asked: Asked,
  mask: string
): Asked {
  const masked = (values: Record<string, string> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, asked.secretNames?.includes(name) ? mask : value])
    )
  return { ...asked, settings: masked(asked.settings), args: masked(asked.args) }
}
