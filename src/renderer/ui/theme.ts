import {
  ActionIcon,
  Button,
  createTheme,
  type CSSVariablesResolver,
  InputWrapper,
  Menu,
  Modal,
  type MantineColorsTuple,
  Tabs,
  Tooltip
} from '@mantine/core'
import { texts } from '../../shared/texts/ui/shared.ts'

const indigo: MantineColorsTuple = [
  '#eceefc',
  '#d5d9fb',
  '#b3bafc',
  '#97a1ff',
  '#7c8cff',
  '#6675f2',
  '#4656e0',
  '#3c4ac8',
  '#333fab',
  '#262f82'
]

// Mantine builds its dark scheme from these, which are the grays of theme.css.
const dark: MantineColorsTuple = [
  '#dfe4ec',
  '#b8c1ce',
  '#97a2b2',
  '#8a96a6',
  '#2d3642',
  '#232a34',
  '#1a1f27',
  '#14181e',
  '#0e1115',
  '#0a0d11'
]

const SMALL = { defaultProps: { size: 'xs' } }

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 6, dark: 4 },
  colors: { indigo, dark },
  fontFamily: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: 'var(--mono)',
  fontSizes: { xs: '12px', sm: '13px', md: '13px', lg: '15px', xl: '17px' },
  lineHeights: { xs: '1.4', sm: '1.45', md: '1.45', lg: '1.5', xl: '1.5' },
  spacing: { xs: '6px', sm: '10px', md: '14px', lg: '18px', xl: '26px' },
  defaultRadius: '6px',
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Button: Button.extend({
      defaultProps: { size: 'xs', variant: 'default' },
      vars: (_theme, { variant, color }) => ({
        root: {
          '--button-height': '28px',
          '--button-padding-x': '11px',
          '--button-fz': '13px',
          ...(variant === 'filled' &&
            color === undefined && { '--button-bg': 'var(--accent)', '--button-color': 'var(--accent-text)' }),
          ...(variant === 'filled' && color === 'red' && { '--button-color': 'var(--panel)' }),
          ...(variant === 'subtle' && color === 'gray' && { '--button-color': 'var(--dim)' })
        }
      })
    }),
    ActionIcon: ActionIcon.extend({ defaultProps: { size: 28, variant: 'subtle', color: 'gray' } }),
    Tooltip: Tooltip.extend({
      defaultProps: { openDelay: 300, withinPortal: true, fz: 12, multiline: true, maw: 360 }
    }),
    Modal: Modal.extend({
      defaultProps: {
        centered: false,
        yOffset: '8vh',
        overlayProps: { backgroundOpacity: 0.35 },
        closeButtonProps: { size: 26, iconSize: 16, 'aria-label': texts.close },
        styles: { title: { fontSize: 15, fontWeight: 600, color: 'var(--text)' } },
        // Keys typed after Esc are meant for the screen, so the closed element must disappear immediately.
        transitionProps: { duration: 100, exitDuration: 0 }
      }
    }),
    Menu: Menu.extend({
      defaultProps: { shadow: 'md', position: 'bottom-end', transitionProps: { duration: 80, exitDuration: 0 } }
    }),
    Popover: { defaultProps: { transitionProps: { exitDuration: 0 } } },
    Tabs: Tabs.extend({ defaultProps: { keepMounted: false } }),
    // Mantine's default is 10 px.
    InputWrapper: InputWrapper.extend({
      vars: () => ({
        label: {},
        error: { '--input-error-size': '12px' },
        success: {},
        description: { '--input-description-size': '12px' }
      })
    }),
    TextInput: SMALL,
    PasswordInput: {
      defaultProps: { size: 'xs', visibilityToggleButtonProps: { 'aria-label': texts.togglePasswordVisibility } }
    },
    NumberInput: SMALL,
    Autocomplete: SMALL,
    TagsInput: SMALL,
    Textarea: SMALL,
    NativeSelect: SMALL,
    Checkbox: SMALL,
    MultiSelect: SMALL,
    Select: { defaultProps: { size: 'xs', checkIconPosition: 'right' } },
    SegmentedControl: { defaultProps: { size: 'xs', styles: { label: { paddingInline: 10 } } } },
    Switch: { defaultProps: { size: 'xs', withThumbIndicator: false } },
    Progress: { defaultProps: { size: 6 } }
  }
})

const variables = {
  '--mantine-color-body': 'var(--panel)',
  '--mantine-color-text': 'var(--text)',
  '--mantine-color-dimmed': 'var(--dim)',
  '--mantine-color-placeholder': 'var(--faint)',
  '--mantine-color-anchor': 'var(--accent)',
  '--mantine-color-error': 'var(--bad)',
  // Mantine's reds are too pale to read on our surfaces.
  '--mantine-color-red-6': 'var(--bad)',
  '--mantine-color-red-filled': 'var(--bad)',
  '--mantine-color-red-filled-hover': 'color-mix(in srgb, var(--bad) 88%, var(--text))',
  '--mantine-color-red-light': 'var(--bad-soft)',
  '--mantine-color-red-light-hover': 'var(--bad-soft)',
  '--mantine-color-red-light-color': 'var(--bad)',
  '--mantine-color-default': 'var(--raised)',
  '--mantine-color-default-hover': 'var(--line)',
  '--mantine-color-default-color': 'var(--text)',
  '--mantine-color-default-border': 'var(--line-strong)'
}

export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: variables, dark: variables })
