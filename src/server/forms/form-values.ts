/** Values by name. Names are Latin-1 text, one character per byte, so that none is lost; values are bytes. */
export type FormValues = Map<string, Buffer[]>

export function addValue(found: FormValues, name: string, value: Buffer): void {
  const values = found.get(name)
  if (values === undefined) found.set(name, [value])
  else values.push(value)
}
