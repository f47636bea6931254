/** One section of an INI file of Amazon's tools: `[default]`, in the configuration also `[profile name]`. Pure. */
export function readProfile(text: string, profile: string): Map<string, string> | null {
  let found: Map<string, string> | null = null
  let isInside = false
  for (const line of text.split(/\r?\n/)) {
    const section = /^\s*\[\s*(?:profile\s+)?([^\]]*?)\s*\]/.exec(line)?.[1]
    if (section !== undefined) {
      isInside = section === profile
      if (isInside) found ??= new Map()
      continue
    }
    // Indented lines belong to nested settings, of which none is used here.
    const [, key, value] = /^([A-Za-z0-9_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (isInside && key !== undefined) found?.set(key.toLowerCase(), value!)
  }
  return found
}
