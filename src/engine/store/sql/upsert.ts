/**
 * SQL that writes a whole row, whether or not there is one with this key. `values`: what each column gets, as SQL (a
 * parameter); `key`: its primary key.
 */
export function replaceRow(table: string, key: readonly string[], values: Readonly<Record<string, string>>): string {
  const columns = Object.keys(values)
  const others = columns.filter((column) => !key.includes(column))
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${Object.values(values).join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`
}
