import type { ReactNode } from 'react'
import classes from './spider-name.module.css'

interface SpiderNameProps {
  project: string
  spider: string
  children?: ReactNode
}

export function SpiderName({ project, spider, children }: SpiderNameProps) {
  return (
    <span className={classes.name} title={`${project}/${spider}`}>
      <span className={`${classes.project} dim`}>{project}</span>
      <span className={`${classes.spider} fixed`}>/{spider}</span>
      {children}
    </span>
  )
}
