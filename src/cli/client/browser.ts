/** Opens an address in the user's browser. */
export type OpenBrowser = (url: string) => Promise<void>

/** null: a browser that opens here would not be before the user's eyes, or there is none. */
export function findBrowser(
  environment: Record<string, string | undefined>,
  platform = process.platform
): OpenBrowser | null {
  const isOverSsh = Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY'])
  // In WSL, the browser is one of Windows.
  const hasDisplay = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'].some((name) => Boolean(environment[name]))
  const needsDisplay = platform !== 'win32' && platform !== 'darwin'
  if (isOverSsh || (needsDisplay && !hasDisplay)) return null
  return async (url) => {
    const { default: open } = await import('open')
    const opener = await open(url)
    // The address is printed, too.
    opener.on('error', () => {})
  }
}
