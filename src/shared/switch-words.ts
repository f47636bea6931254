const ON = ['1', 'yes', 'true', 'on']
const OFF = ['0', 'no', 'false', 'off']

/** What people write for on and off, in any case; null: something else. */
export function readSwitch(text: string): boolean | null {
  const word = text.toLowerCase()
  if (ON.includes(word)) return true
  return OFF.includes(word) ? false : null
}
