import { Link, type LinkProps } from '@tanstack/react-router'
import classes from './view-tabs.module.css'

interface ViewTabsProps {
  of: string
  views: readonly { to: LinkProps['to']; word: string }[]
}

export function ViewTabs({ of, views }: ViewTabsProps) {
  return (
    <nav className={`${classes.tabs} box fixed`} aria-label={of}>
      {views.map(({ to, word }) => (
        <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }} activeProps={{ 'data-on': true }}>
          {word}
        </Link>
      ))}
    </nav>
  )
}
