import { ALERT_WATCHES } from '../../alert-watches.ts'
import { area, textsIn } from './area.ts'

/** `label.node_down`, and `mend.node_down` where the watch has one: what mails have in English. */
export const texts = area('watches', textsIn(ALERT_WATCHES, ['label', 'mend']))
