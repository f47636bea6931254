/** `day`: 0 is Sunday. */
export function readWall(zone: string, atMs: number): { day: number; minute: number } {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23'
  })
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(parts['weekday']!)
  return { day, minute: Number(parts['hour']) * 60 + Number(parts['minute']) }
}
