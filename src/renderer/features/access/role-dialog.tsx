import { Dialog } from '../../ui/dialog.tsx'
import { Badge, Checkbox, Stack, TextInput } from '@mantine/core'
import { type AccessRole, NewRole } from '../../../shared/contract/index.ts'
import {
  type Permission,
  PERMISSION_TEXTS,
  namesOf,
  OWNER_PERMISSIONS,
  type PermissionGroup,
  PERMISSIONS,
  permissionsOf,
  PROJECT_PERMISSIONS,
  subtract
} from '../../../shared/permissions.ts'
import { useApi } from '../../api/api.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import classes from './access.module.css'
import { listPermissions } from './role-words.ts'
import { useReadAccess } from './use-access.ts'
import { z } from 'zod'
import { texts } from '../../../shared/texts/ui/access.ts'
import { texts as words } from '../../../shared/texts/ui/permissions.ts'

interface RoleDialogProps {
  role: AccessRole | null
  /** Whether to start a new role as a copy of `role`. */
  isCopy?: boolean
  onClose: () => void
}

export function RoleDialog({ role, isCopy = false, onClose }: RoleDialogProps) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const isNew = role === null || isCopy
  const isFixed = !isNew && role.isBuiltIn
  const form = useFormOf<RoleTexts, NewRole>({
    schema: RoleForm,
    start: () => startRole(role, isCopy),
    save: async (wanted) => {
      await (isNew ? client.roles.create(wanted) : client.roles.update(wanted))
      onClose()
      notifyDone(isNew ? texts.roleWasAdded(wanted.name) : texts.roleWasChanged(wanted.name))
      await readAgain()
    }
  })
  if (isFixed) {
    return (
      <Dialog opened onClose={onClose} title={texts.roleTitle(role.name)} size={560}>
        <p className={`${classes.roleNote} dim`}>{texts.builtInRoleHint}</p>
        <Permissions value={role.permissions} />
      </Dialog>
    )
  }
  const { permissions } = form.values
  return (
    <Dialog opened onClose={onClose} title={isNew ? texts.addRole : texts.roleTitle(role.name)} size={560}>
      <SchemaForm form={form}>
        {isNew && (
          <TextInput
            {...form.input('name')}
            label={texts.name}
            placeholder={texts.roleNameExample}
            description={texts.roleNameHint}
            maxLength={64}
            data-autofocus
            {...CODE_INPUT}
          />
        )}
        <TextInput {...form.input('description')} label={texts.description} maxLength={500} />
        <Permissions value={permissions} onChange={(next) => form.change({ permissions: next })} />
        <p className={`${classes.roleNote} dim`} role="status">
          {scopeWords(permissions)}
        </p>
        <FormFoot form={form} submit={isNew ? texts.addRole : texts.save} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

function scopeWords(permissions: readonly Permission[]): string {
  const ofService = ofWholeService(permissions)
  if (ofService.length === 0) return texts.roleForProjects
  return texts.roleForServiceOnly(listPermissions(ofService))
}

function Permissions({ value, onChange }: { value: readonly Permission[]; onChange?: (next: Permission[]) => void }) {
  return (
    <Stack gap={14} className={classes.permissions}>
      {Object.entries(GROUPS).map(([group, title]) => (
        <fieldset key={group}>
          <legend>{title}</legend>
          {PERMISSIONS.filter((name) => PERMISSION_TEXTS[name].group === group).map((name) => {
            const { scope } = PERMISSION_TEXTS[name]
            const [label, text] = [words[`label.${name}`], words[`text.${name}`]]
            const fixed = onChange === undefined ? null : fixedBecause(name)
            return (
              <Checkbox
                key={name}
                size="xs"
                label={
                  <span className={classes.permission}>
                    {label[0]!.toUpperCase() + label.slice(1)}
                    {scope === 'service' && (
                      <Badge size="xs" variant="default" title={texts.wholeServiceHint}>
                        {texts.wholeService}
                      </Badge>
                    )}
                  </span>
                }
                description={text}
                checked={value.includes(name)}
                disabled={onChange === undefined || fixed !== null}
                title={fixed ?? undefined}
                onChange={({ currentTarget: { checked } }) =>
                  onChange?.(checked ? [...value, name] : value.filter((one) => one !== name))
                }
              />
            )
          })}
        </fieldset>
      ))}
    </Stack>
  )
}

const RoleForm = z.object({
  name: z.string().trim().min(1, texts.required).pipe(NewRole.shape.name),
  description: z.string().trim().max(500),
  permissions: NewRole.shape.permissions
})
type RoleTexts = z.input<typeof RoleForm>

function startRole(of: AccessRole | null, isCopy: boolean): RoleTexts {
  if (of === null) return { name: '', description: '', permissions: ['read'] }
  const permissions = namesOf(subtract(permissionsOf(of.permissions), OWNER_PERMISSIONS))
  return { name: isCopy ? '' : of.name, description: of.description, permissions }
}

/** Why the user cannot turn a permission on or off. null: they can. */
function fixedBecause(name: Permission): string | null {
  if (name === 'read') return texts.everyRoleHasIt
  return namesOf(OWNER_PERMISSIONS).includes(name) ? texts.onlyOwnerHasIt : null
}

const GROUPS: Record<PermissionGroup, string> = {
  jobs: texts.jobs,
  projects: texts.projects,
  nodes: texts.nodes,
  service: texts.service
}

const ofWholeService = (permissions: readonly Permission[]): Permission[] =>
  namesOf(subtract(permissionsOf(permissions), PROJECT_PERMISSIONS))
