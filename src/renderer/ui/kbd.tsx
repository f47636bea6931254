import classes from './kbd.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

export function Kbd({ children }: { children: string }) {
  return <kbd className={classes.kbd}>{children}</kbd>
}

/** `Ctrl K`, or `⌘ K` on a Mac. */
export const modKey = (key: string): string => (/mac/i.test(navigator.platform) ? `⌘ ${key}` : texts.ctrlKey(key))
