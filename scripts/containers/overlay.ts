/**
 * Lines of a shell script in a mount namespace of its own: `$root`, at `place` (quoted), has the files of this machine,
 * and what is written there is gone with the namespace.
 */
export const overlayOfThisMachine = (place: string): string[] => [
  `mkdir -p ${place}`,
  `mount -t tmpfs none ${place}`,
  `mkdir ${place}/upper ${place}/work ${place}/root`,
  `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${place}/root`,
  `root=${place}/root`
]
