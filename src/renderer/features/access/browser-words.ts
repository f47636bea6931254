import { texts } from '../../../shared/texts/ui/access.ts'
/** The order matters: most browsers also identify as an older one. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdgA?\//, texts.edge],
  [/\bOPR\//, texts.opera],
  [/\bFirefox\/|\bFxiOS\//, texts.firefox],
  [/\bChrom(?:e|ium)\/|\bCriOS\//, texts.chrome],
  [/\bSafari\//, texts.safari]
]
const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, texts.android],
  [/\biP(?:hone|ad)\b/, 'iOS'],
  [/\bWindows\b/, texts.windows],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, texts.linux]
]

/** `Firefox on Linux`, or the user agent itself if it is not recognized. */
export function describeBrowser(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1]
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1]
  if (browser !== undefined && system !== undefined) return texts.browserOnSystem(browser, system)
  return browser ?? (userAgent === '' ? texts.unknownBrowser : userAgent.slice(0, 40))
}
