import { Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type AnchorButtonProps = ButtonProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof ButtonProps> & { ref?: Ref<HTMLAnchorElement> }

/** Usage: `<LinkButton to="/jobs" search={{ project }}>`. */
export const LinkButton = createLink((props: AnchorButtonProps) => <Button component="a" {...props} />)
